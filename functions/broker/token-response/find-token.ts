import type { FoundMember, FoundToken, PrintPath } from './body.ts';
import { listMembers, memberAt, plainName, UnusableAnswer } from './body.ts';
import { readJwt } from './expiry.ts';

/**
 * Finds the token in a decoded answer, at `tokenMember` if it is set. Otherwise takes the first of `TOKEN_NAMES`,
 * at most two levels down, or a body that is a bare JWT or opaque word. Never takes a refresh token. Refuses two
 * candidates with different values, except for usual companions of a token (an `id_token`, a session).
 *
 * @throws UnusableAnswer when there is no token, more than one, or a token that no `Authorization` header can
 * contain
 */
export function findToken(answer: unknown, tokenMember: string | undefined, print: PrintPath): FoundToken {
  const member = tokenMember === undefined ? searchedMember(answer, print) : memberAt(answer, tokenMember);
  if (member === undefined) throw new UnusableAnswer('response.tokenMember names a member that it does not have.');
  const value = withoutScheme(member.value);
  const flaw = flawOf(value);
  if (typeof value === 'string' && flaw === undefined) return { ...member, value };
  const advice = 'If another member is the token, name it in response.tokenMember.';
  throw new UnusableAnswer(`its member \`${print(member.path)}\` should be the token but ${flaw}. ${advice}`);
}

function searchedMember(answer: unknown, print: PrintPath): FoundMember {
  if (typeof answer === 'string') {
    if (looksLikeToken(answer)) return { path: [], value: answer, around: [] };
    throw new UnusableAnswer(
      'its body is a text that does not look like a token. If it is one, set response.tokenMember to `$`.',
    );
  }
  const candidates = listMembers(answer)
    .map((member) => ({ ...member, name: plainName(member.path.at(-1) ?? '') }))
    .filter(({ name, value }) => TOKEN_NAMES.includes(name) && (!VAGUE_NAMES.has(name) || looksLikeToken(value)))
    .sort((a, b) => TOKEN_NAMES.indexOf(a.name) - TOKEN_NAMES.indexOf(b.name));
  const texts = candidates.filter(({ value }) => typeof value === 'string' && value !== '');
  const [token = candidates[0]] = texts;
  if (token === undefined) {
    throw new UnusableAnswer(
      'no member has a name that the broker knows for a token; name the token in response.tokenMember.',
    );
  }
  const rival = texts.find(({ name, value }) => {
    const comesAlong = COMPANIONS.has(name) && name !== token.name;
    return !comesAlong && withoutScheme(value) !== withoutScheme(token.value);
  });
  if (rival === undefined) return token;
  const members = `\`${print(token.path)}\` and \`${print(rival.path)}\``;
  throw new UnusableAnswer(`its members ${members} have different values; name the token in response.tokenMember.`);
}

/** Removes the `Bearer ` that some services send before the token. No token contains a space. */
function withoutScheme(value: unknown): unknown {
  return typeof value === 'string' ? value.replace(/^bearer +/i, '') : value;
}

/** Returns why a value is no token. Accepts 1 to 65 536 visible ASCII characters (RFC 6749 A.12, RFC 6750 §2.1). */
function flawOf(token: unknown): string | undefined {
  if (typeof token !== 'string') return `is ${token === null ? 'null' : 'not a string'}`;
  if (token === '') return 'is empty';
  if (token.length > 65_536) return 'is longer than 64 KiB';
  return /^[\x21-\x7e]+$/.test(token) ? undefined : 'contains a space, a control character or a character beyond ASCII';
}

/** Returns whether a value with an ambiguous name is a token: a JWT, or an opaque word unlike `Unauthorized`. */
function looksLikeToken(value: unknown): boolean {
  const text = withoutScheme(value);
  if (typeof text !== 'string') return false;
  if (readJwt(text) !== undefined) return true;
  if (text.length < 8 || !/^[\w.~+/=:|!*$@-]+$/.test(text) || !/[a-z]/i.test(text)) return false;
  return (text.length >= 40 || !FAILURE_WORD.test(text)) && (/\d/.test(text) || text.length >= 16);
}

const FAILURE_WORD =
  /error|failed|failure|invalid|denied|unauthori|forbidden|exception|unavailable|expired|not.?found/i;

const SESSION_NAMES = ['sessiontoken', 'sessionid', 'sessionkey', 'session', 'sid', 'ticket'];

/**
 * The plain names of members that contain a token, in search order: `access_token` (RFC 6749 §5.1), `token`,
 * `id_token` (OpenID Connect Core §3.1.3.3), other tokens, sessions.
 */
export const TOKEN_NAMES: readonly string[] = [
  ...['accesstoken', 'token', 'idtoken', 'jwt', 'jwttoken', 'bearertoken', 'authtoken', 'authenticationtoken'],
  ...['authorizationtoken', 'apitoken', 'oauthtoken', 'securitytoken', 'servicetoken', 'clienttoken', 'usertoken'],
  ...['logintoken', 'xauthtoken', 'tokenvalue', 'tokenstring', 'bearer', 'authorization', 'access', ...SESSION_NAMES],
];

/** Members that accompany a token. Their different values do not contradict it. */
const COMPANIONS: ReadonlySet<string> = new Set(['idtoken', 'authorization', 'access', ...SESSION_NAMES]);

/** Ambiguous names (`"access": "granted"`), whose value must look like a token. */
const VAGUE_NAMES: ReadonlySet<string> = new Set(['access', 'authorization', 'bearer', 'session', 'ticket']);
