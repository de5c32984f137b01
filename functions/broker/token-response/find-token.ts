import { type FoundMember, listMembers, memberAt } from './members.ts';
import { isCompanion, isVague, rankOf, tokenNameOf } from './token-name.ts';
import { flawOf, looksLikeToken, withoutScheme } from './token-text.ts';
import { UnusableAnswer } from './unusable-answer.ts';

/**
 * Finds the token in a decoded answer.
 *
 * With `tokenMember` the member at that path counts and nothing else. Without it, members are searched by name, at the
 * top level and in objects one or two levels further down; an array of exactly one stands for its entry. In this order:
 *
 * 1. `access_token` (RFC 6749 §5.1)
 * 2. `token`
 * 3. `id_token` (OpenID Connect Core §3.1.3.3)
 * 4. `jwt`, `bearerToken`, `authToken`, `apiToken` and the like
 * 5. `access` and `authorization`, when they look like a token
 * 6. `sessionToken`, `sessionId`, `ticket` and the like
 *
 * `accessToken`, `Access-Token` and `access_token` are one name, and so for all. A token may stand inside an object of
 * such a name: `{"token": {"value": "…"}}`. An answer that is nothing but a text is the token when it is a JWT or an
 * opaque word. A refresh token is never taken, and `Bearer ` before a token is removed.
 *
 * Two such members with different values contradict each other and are refused. Only what usually comes along with a
 * token may differ from it: an `id_token`, a session, a ticket, further down in the order and of another name.
 *
 * @throws UnusableAnswer when there is no token, more than one, or one that no `Authorization` header can carry
 */
export function findToken(answer: unknown, tokenMember: string | undefined): FoundToken {
  if (tokenMember !== undefined) return asToken(memberOfSettings(answer, tokenMember));
  return asToken(typeof answer === 'string' ? bareText(answer) : searchedMember(answer));
}

export interface FoundToken extends FoundMember {
  readonly value: string;
}

function memberOfSettings(answer: unknown, tokenMember: string): FoundMember {
  const member = memberAt(answer, tokenMember);
  if (member !== undefined) return member;
  throw new UnusableAnswer('response.tokenMember names a member that it does not have.');
}

function bareText(answer: string): FoundMember {
  if (looksLikeToken(withoutScheme(answer))) return { path: [], value: answer, around: [] };
  throw new UnusableAnswer(
    'its body is a text that does not look like a token. If it is one, set response.tokenMember to `$`.',
  );
}

interface Candidate extends FoundMember {
  readonly name: string;
}

function searchedMember(answer: unknown): FoundMember {
  const candidates = listMembers(answer)
    .flatMap(asCandidate)
    .sort((a, b) => rankOf(a.name) - rankOf(b.name));
  const texts = candidates.filter(({ value }) => typeof value === 'string' && value !== '');
  const [token] = texts;
  if (token === undefined) return candidates[0] ?? nothingFound();
  const rival = texts.find((other) => contradicts(other, token));
  if (rival === undefined) return token;
  throw new UnusableAnswer((print) => {
    const members = `\`${print(token.path)}\` and \`${print(rival.path)}\``;
    return `its members ${members} hold different values; say in response.tokenMember which one is the token.`;
  });
}

function nothingFound(): never {
  throw new UnusableAnswer(
    'none of its members has a name that the broker knows for a token; say in response.tokenMember which one it is.',
  );
}

function asCandidate(member: FoundMember): readonly Candidate[] {
  const name = tokenNameOf(member.path);
  if (name === undefined) return [];
  const isTold = !isVague(name) || (typeof member.value === 'string' && looksLikeToken(withoutScheme(member.value)));
  return isTold ? [{ ...member, name }] : [];
}

function contradicts(other: Candidate, token: Candidate): boolean {
  const comesAlong = isCompanion(other.name) && other.name !== token.name;
  return !comesAlong && withoutScheme(String(other.value)) !== withoutScheme(String(token.value));
}

function asToken(member: FoundMember): FoundToken {
  const value = typeof member.value === 'string' ? withoutScheme(member.value) : undefined;
  const flaw = value === undefined ? `is ${member.value === null ? 'null' : 'not a string'}` : flawOf(value);
  if (value !== undefined && flaw === undefined) return { ...member, value };
  throw new UnusableAnswer((print) => {
    const advice = 'If another one is the token, name it in response.tokenMember.';
    return `its member \`${print(member.path)}\` should be the token but ${flaw}. ${advice}`;
  });
}
