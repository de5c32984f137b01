import { readJwt } from './expiry-value.ts';
import { type FoundMember, listMembers, type MemberPath, memberAt, plainName, UnusableAnswer } from './members.ts';

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

function asCandidate(member: FoundMember): readonly Candidate[] {
  const name = tokenNameOf(member.path);
  if (name === undefined) return [];
  const isTold =
    !VAGUE_NAMES.has(name) || (typeof member.value === 'string' && looksLikeToken(withoutScheme(member.value)));
  return isTold ? [{ ...member, name }] : [];
}

/**
 * The name under which a member would hold a token, undefined when its name is no such name. Inside of `accessToken` or
 * `access`, a `value`, `token` or `jwtToken` is that access token.
 */
function tokenNameOf(path: MemberPath): string | undefined {
  const name = plainName(path.at(-1) ?? '');
  const outer = plainName(path.slice(0, -1).findLast((step) => step !== '0') ?? '');
  if (NAMES_WITHIN.has(name) && NAMES_AROUND.has(outer)) return outer === 'access' ? 'accesstoken' : outer;
  return RANKS.has(name) ? name : undefined;
}

function rankOf(tokenName: string): number {
  return RANKS.get(tokenName) ?? RANKS.size;
}

function nothingFound(): never {
  throw new UnusableAnswer(
    'none of its members has a name that the broker knows for a token; say in response.tokenMember which one it is.',
  );
}

function contradicts(other: Candidate, token: Candidate): boolean {
  const comesAlong = COMPANIONS.has(other.name) && other.name !== token.name;
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

/** The token without `Bearer ` before it, which services that mean to be helpful send; no token holds a space. */
function withoutScheme(text: string): string {
  return text.replace(/^bearer +/i, '');
}

/**
 * Why a text cannot be a token, undefined when it can: 1 to 65 536 visible ASCII characters.
 *
 * @see RFC 6749 appendix A.12, RFC 6750 §2.1
 */
function flawOf(token: string): string | undefined {
  if (token === '') return 'is empty';
  if (token.length > MAX_TOKEN_LENGTH) return 'is longer than 64 KiB';
  return VISIBLE_ASCII.test(token) ? undefined : 'holds a space, a control character or one beyond ASCII';
}

const MAX_TOKEN_LENGTH = 65_536;
const VISIBLE_ASCII = /^[\x21-\x7e]+$/;

/** Whether a text that no name calls a token is one: a JWT, or an opaque word unlike `Unauthorized` or `invalid_client`. */
function looksLikeToken(text: string): boolean {
  return readJwt(text) !== undefined || isOpaqueWord(text);
}

function isOpaqueWord(text: string): boolean {
  if (text.length < 8 || !OPAQUE_WORD.test(text) || !/[a-z]/i.test(text)) return false;
  if (text.length < 40 && FAILURE_WORD.test(text)) return false;
  return /\d/.test(text) || text.length >= 16;
}

const OPAQUE_WORD = /^[\w.~+/=:|!*$@-]+$/;
const FAILURE_WORD =
  /error|failed|failure|invalid|denied|unauthori|forbidden|exception|unavailable|expired|not.?found/i;

/** Whether the search knows this name. */
export function isTokenName(name: string): boolean {
  return RANKS.has(plainName(name));
}

const RANKS: ReadonlyMap<string, number> = new Map(
  [
    ...['accesstoken', 'token', 'idtoken', 'jwt', 'jwttoken', 'bearertoken', 'authtoken', 'authenticationtoken'],
    ...['authorizationtoken', 'apitoken', 'oauthtoken', 'securitytoken', 'servicetoken', 'clienttoken', 'usertoken'],
    ...['logintoken', 'xauthtoken', 'tokenvalue', 'tokenstring', 'bearer', 'authorization', 'access'],
    ...['sessiontoken', 'sessionid', 'sessionkey', 'session', 'sid', 'ticket'],
  ].map((name, rank) => [name, rank]),
);

/** Members that come along with a token without being one, so that they do not contradict it. */
const COMPANIONS: ReadonlySet<string> = new Set([
  ...['idtoken', 'authorization', 'access', 'sessiontoken', 'sessionid', 'sessionkey', 'session', 'sid', 'ticket'],
]);

/** Words that also mean something else (`"access": "granted"`): only a value that looks like a token is taken for one. */
const VAGUE_NAMES: ReadonlySet<string> = new Set(['access', 'authorization', 'bearer', 'session', 'ticket']);

const NAMES_WITHIN: ReadonlySet<string> = new Set(['value', 'token', 'jwt', 'jwttoken', 'tokenvalue', 'tokenstring']);

const NAMES_AROUND: ReadonlySet<string> = new Set([
  ...['access', 'accesstoken', 'token', 'idtoken', 'jwt', 'bearertoken', 'authtoken', 'apitoken', 'sessiontoken'],
]);
