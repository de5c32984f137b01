import { isRecord, parseJson } from '../json.ts';

/** What a token endpoint answered, complete and unread. Header names are lower-case, repeated ones joined by `, `. */
export interface TokenResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

/** What the body of a token response holds, or why it cannot be read. */
export type DecodedBody =
  | { readonly value: unknown; readonly isJson: boolean }
  | { readonly value?: undefined; readonly unreadable: string };

/**
 * Decodes a body as UTF-8 (a byte order mark is ignored) and then by what it looks like, because services mislabel
 * what they send:
 *
 * 1. JSON, when it begins with `{`, `[` or `"`. A member that occurs twice has its last value.
 * 2. `application/x-www-form-urlencoded`, when declared so or when it begins with `name=value`.
 * 3. A bare text, when it is declared as plain text, as a JWT, not at all, or is a JWT in a body declared as JSON.
 *
 * A type that cannot hold a token, such as HTML or XML, is never read: pages of proxies and log-in forms have it.
 *
 * @see RFC 6749 §5.1, RFC 8259 §8.1
 */
export function decodeBody({ headers, body }: TokenResponse): DecodedBody {
  const type = mediaTypeOf(headers['content-type']);
  const isJsonType = JSON_TYPES.has(type) || type.endsWith('+json');
  const text = decodeUtf8(body);
  if (text === '') return { unreadable: `its body is empty. ${WRONG_PLACE}` };
  if (!isJsonType && !OTHER_TYPES.has(type) && !type.endsWith('+jwt')) {
    return { unreadable: `its content type is not JSON, a form, plain text or a JWT. ${WRONG_PLACE}` };
  }
  if (text === undefined) return { unreadable: 'its body is not UTF-8.' };
  if (/^[{["]/.test(text)) return decodeJson(text);
  if (type === FORM || LOOKS_LIKE_FORM.test(text)) {
    return { value: Object.fromEntries(new URLSearchParams(text)), isJson: false };
  }
  // A raw JWT is unmistakable; any other word in a body declared as JSON may be a broken rest.
  return isJsonType && !text.startsWith('eyJ') ? decodeJson(text) : { value: text, isJson: false };
}

const WRONG_PLACE =
  "Check the service's authUrl and tokenPath, and its headers: some services need `accept: application/json`.";

const FORM = 'application/x-www-form-urlencoded';
const JSON_TYPES: ReadonlySet<string> = new Set(['application/json', 'text/json', 'application/x-json']);
const OTHER_TYPES: ReadonlySet<string> = new Set(['', 'text/plain', 'application/jwt', FORM]);

/** The `=` that pads base64 is followed by nothing or by another one. */
const LOOKS_LIKE_FORM = /^[\w.-]{1,64}=[^=]/;

/** The media type of a `content-type` header, in lower case and without parameters; empty when it names none (RFC 9110 §8.3.1). */
export function mediaTypeOf(contentType = ''): string {
  const [type = ''] = contentType.toLowerCase().split(';');
  return type.trim();
}

function decodeUtf8(body: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(body).trim();
  } catch {
    return undefined;
  }
}

function decodeJson(text: string): DecodedBody {
  const value = parseJson(text);
  return value === undefined
    ? { unreadable: `its body is not JSON, or is cut off. ${WRONG_PLACE}` }
    : { value, isJson: true };
}

type Members = Readonly<Record<string, unknown>>;

/** The names that lead to a member, from the outside in. */
export type MemberPath = readonly string[];

/** Writes a member's path without giving away a value of the answer. */
export type PrintPath = (path: MemberPath) => string;

/** One object of an answer and where it stands. */
export interface Level {
  readonly path: MemberPath;
  readonly members: Members;
}

/** A member of an answer, with the objects around it, the nearest first. */
export interface FoundMember {
  readonly path: MemberPath;
  readonly value: unknown;
  readonly around: readonly Level[];
}

/** Thrown while an answer is read, when no token can come of it; says what is wrong and which setting would help. */
export class UnusableAnswer extends Error {
  override readonly name = 'UnusableAnswer';
}

/** `accessToken`, `access_token`, `Access-Token` and `access.token` are one name; one that is too long is none. */
export function plainName(name: string): string {
  return name.length > MAX_NAME_LENGTH ? '' : name.toLowerCase().replace(/[-_. ]/g, '');
}

/** Longer names are not read. */
export const MAX_NAME_LENGTH = 64;

/**
 * The members of an answer down to two objects below the outermost, the outer ones first. An array of exactly one
 * stands for its entry; longer ones are not entered, nor is an object that may belong to a refresh token.
 */
export function listMembers(answer: unknown): readonly FoundMember[] {
  const found: FoundMember[] = [];
  const objects: FoundMember[] = [{ path: [], value: answer, around: [] }];
  // Grows while it is walked, so that the outer members come first.
  for (const object of objects) {
    const level = enter(object.value, object.path);
    if (level === undefined) continue;
    const around = [level, ...object.around];
    for (const [name, value] of Object.entries(level.members)) {
      if (found.length === MAX_MEMBERS) return found;
      const member = { path: [...level.path, name], value, around };
      found.push(member);
      const mayBeOfRefresh = name.length > MAX_NAME_LENGTH || plainName(name).startsWith('refresh');
      if (around.length <= MAX_DEPTH && !mayBeOfRefresh) objects.push(member);
    }
  }
  return found;
}

/**
 * The member at a dotted path such as `data.token`, exactly as written; `$` is the answer itself. A name that holds
 * dots itself is found first, and an array of exactly one needs no index.
 */
export function memberAt(answer: unknown, dottedPath: string): FoundMember | undefined {
  const root: FoundMember = { path: [], value: answer, around: [] };
  return dottedPath === '$' ? root : memberBelow(root, dottedPath);
}

function memberBelow(outer: FoundMember, dottedPath: string): FoundMember | undefined {
  const level = enter(outer.value, outer.path, dottedPath);
  if (level === undefined) return undefined;
  const name = Object.hasOwn(level.members, dottedPath) ? dottedPath : dottedPath.replace(/\..*$/s, '');
  if (!Object.hasOwn(level.members, name)) return undefined;
  const member = { path: [...level.path, name], value: level.members[name], around: [level, ...outer.around] };
  return name === dottedPath ? member : memberBelow(member, dottedPath.slice(name.length + 1));
}

/** The object that a value is or, for an array, holds: its only entry, or all of them when an index is asked for. */
function enter(value: unknown, path: MemberPath, rest = ''): Level | undefined {
  if (isRecord(value)) return { path, members: value };
  if (!Array.isArray(value)) return undefined;
  if (/^\d+(?:\.|$)/.test(rest)) return { path, members: { ...value } };
  const only: unknown = value.length === 1 ? value[0] : undefined;
  return isRecord(only) ? { path: [...path, '0'], members: only } : undefined;
}

const MAX_MEMBERS = 1_000;
const MAX_DEPTH = 2;
