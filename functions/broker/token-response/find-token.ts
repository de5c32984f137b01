import { parseJsonObject } from '../json.ts';
import type { Service } from '../service.ts';
import { openText } from './content.ts';
import { type Answer, type FoundMember, headerAt, type Level, memberAt, UnusableAnswer } from './members.ts';
import { COMPANIONS, plainName, TOKEN_NAMES, VAGUE_NAMES } from './names.ts';
import { readMoment } from './times.ts';

/** The token of an answer, without `Bearer ` before it. */
export interface FoundToken {
  readonly text: string;
  /** The objects around the token, the nearest object first. */
  readonly around: readonly Level[];
  readonly jwt: Jwt | undefined;
}

interface Jwt {
  /** The claim `exp` in epoch milliseconds. */
  readonly expiresAt: number | undefined;
  /** The time from `iat` to `exp`. */
  readonly lifetimeMs: number | undefined;
}

/**
 * Finds the token in an answer, at `tokenMember` or in `tokenHeader` if it is set. Otherwise takes the first of
 * `TOKEN_NAMES`, at most two levels down, or a body that is a bare JWT or opaque word. Never takes a refresh token.
 * Refuses two candidates with different values, except for usual companions of a token (an `id_token`, a session).
 *
 * @throws UnusableAnswer when there is no token, more than one, or a token that no `Authorization` header can
 * contain
 */
export function findToken(answer: Answer, { tokenMember, tokenHeader }: Service['response']): FoundToken {
  const isNamed = (tokenHeader ?? tokenMember) !== undefined;
  const named = tokenHeader ? headerAt(answer, tokenHeader) : memberAt(answer.content, tokenMember ?? '');
  const member = isNamed ? named : searchedMember(answer);
  if (member === undefined) {
    const what = tokenHeader ? 'tokenHeader names a header' : 'tokenMember names a member';
    throw new UnusableAnswer(`response.${what} that it does not have.`);
  }
  const text = withoutScheme(member.value);
  const flaw = flawOf(text) ?? (!isNamed && isFailure(text) ? 'reads like an error' : undefined);
  if (typeof text === 'string' && flaw === undefined) return { text, around: member.around, jwt: readJwt(text) };
  const advice = 'If another member is the token, name it in response.tokenMember.';
  throw new UnusableAnswer(`its member \`${answer.print(member.path)}\` should be the token but ${flaw}. ${advice}`);
}

function searchedMember({ content, members, print }: Answer): FoundMember {
  const text = openText(content.value);
  if (typeof text === 'string') {
    if (looksLikeToken(text)) return { path: [], value: text, around: [] };
    throw new UnusableAnswer(
      'its body is a text that does not look like a token. If it is one, set response.tokenMember to `$`.',
    );
  }
  const candidates = members
    .map((member) => ({ ...member, name: plainName(member.path.at(-1) ?? '') }))
    .filter(({ name, value }) => TOKEN_NAMES.includes(name) && (!VAGUE_NAMES.has(name) || looksLikeToken(value)))
    .sort((a, b) => TOKEN_NAMES.indexOf(a.name) - TOKEN_NAMES.indexOf(b.name));
  const written = candidates.filter(({ value }) => typeof value === 'string' && value !== '');
  // A text that contains members is no token beside them.
  const words = written.filter(({ value }) => typeof openText(value) !== 'object');
  const texts = words.length > 0 ? words : written;
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
  const both = `\`${print(token.path)}\` and \`${print(rival.path)}\``;
  throw new UnusableAnswer(`its members ${both} have different values; name the token in response.tokenMember.`);
}

/** Removes white space and the marks of a JSON text around the token, and the `Bearer ` before it. */
function withoutScheme(value: unknown): unknown {
  if (typeof value !== 'string') return value;
  const text = value.replace(/^\s*(?:bearer\s+)*/i, '').trimEnd();
  return text.replace(/^"([^"]*)"$/, '$1');
}

/** Returns why a value is no token. Accepts 1 to 65 536 visible ASCII characters (RFC 6749 A.12, RFC 6750 §2.1). */
function flawOf(token: unknown): string | undefined {
  if (typeof token !== 'string') return `is ${token === null ? 'null' : 'not a string'}`;
  if (token === '') return 'is empty';
  if (NOTHING.test(token)) return 'is a word for nothing';
  if (token.length > 65_536) return 'is longer than 64 KiB';
  if (/[<>"]/.test(token)) return 'contains an angle bracket or a quotation mark';
  if (Object.hasOwn(decodeMembers(token) ?? {}, 'access_token')) return 'is a whole answer in base64';
  return /^[\x21-\x7e]+$/.test(token) ? undefined : 'contains a space, a control character or a character beyond ASCII';
}

/** Texts that a service, or its own client, writes when it has no token. */
const NOTHING =
  /^(?:null|undefined|none|nil|nan|false|true|ok|error|failed|failure|denied|forbidden|unauthori[sz]ed|invalid|expired|bearer|basic|n\/a|\(null\)|-?\d{1,3}|[*{}[\]]+)$/i;

/** Returns whether a value with an ambiguous name is a token: a JWT, or an opaque word unlike `Unauthorized`. */
function looksLikeToken(value: unknown): boolean {
  const text = withoutScheme(value);
  if (typeof text !== 'string') return false;
  if (readJwt(text) !== undefined) return true;
  if (text.length < 8 || !/^[\w.~+/=:|!*$@-]+$/.test(text) || !/[a-z]/i.test(text)) return false;
  return !isFailure(text) && (/\d/.test(text) || text.length >= 16);
}

/** Returns whether a text is the word of a failure. A long text may contain such a word by chance. */
function isFailure(text: unknown): boolean {
  return typeof text === 'string' && text.length < 40 && FAILURE_WORD.test(text);
}

const FAILURE_WORD =
  /error|failed|failure|invalid|denied|unauthori|forbidden|exception|unavailable|expired|not.?found|exceeded|required|missing|suspended|maintenance/i;

/**
 * Reads a signed JWT. Returns `undefined` for any other text. Does not verify the signature, because the token came
 * directly from its service (RFC 7519 §4.1.4, RFC 7515 §7.1).
 */
function readJwt(text: string): Jwt | undefined {
  const parts = text.split('.', 4);
  if (parts.length !== 3) return undefined;
  const [header, claims] = parts.slice(0, 2).map(decodeMembers);
  if (typeof header?.alg !== 'string' || claims === undefined) return undefined;
  const [expiresAt, issuedAt] = [readMoment(claims.exp), readMoment(claims.iat)];
  const lifetimeMs = (expiresAt ?? Number.NaN) - (issuedAt ?? Number.NaN);
  return { expiresAt, lifetimeMs: lifetimeMs > 0 ? lifetimeMs : undefined };
}

function decodeMembers(base64url: string): Readonly<Record<string, unknown>> | undefined {
  try {
    // One character per byte instead of UTF-8. The relevant numbers and names are the same.
    return parseJsonObject(atob(base64url.replaceAll('-', '+').replaceAll('_', '/')));
  } catch {
    return undefined;
  }
}
