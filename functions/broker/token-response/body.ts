import { decodeUtf8, isRecord, mediaTypeOf, parseJson } from '../json.ts';

/** The raw answer of a token endpoint. Header names are lower-case. Repeated headers are joined by `, `. */
export interface TokenResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

/** The content of a token response, or the reason why it cannot be read. */
export type DecodedBody =
  | { readonly value: unknown; readonly isJson: boolean }
  | { readonly value?: undefined; readonly unreadable: string };

/**
 * Decodes a body as JSON, as a form or as a bare text. Judges by the content, because services send wrong media types.
 * Never reads a type without tokens, such as HTML, which proxies and log-in forms send.
 *
 * @see RFC 6749 §5.1, RFC 8259 §8.1
 */
export function decodeBody({ headers, body }: TokenResponse): DecodedBody {
  const type = mediaTypeOf(headers['content-type']);
  const text = decodeUtf8(body)?.trim();
  if (text === '') return { unreadable: `its body is empty. ${WRONG_PLACE}` };
  if (!TOKEN_TYPE.test(type)) {
    return { unreadable: `its content type is not JSON, a form, plain text or a JWT. ${WRONG_PLACE}` };
  }
  if (text === undefined) return { unreadable: 'its body is not UTF-8.' };
  const isForm = /\bx-www-form-urlencoded$/.test(type) || LOOKS_LIKE_FORM.test(text);
  // A raw JWT is unmistakable. Any other word in a body declared as JSON may be truncated JSON.
  if (/^[{["]/.test(text) || (/\bjson$/.test(type) && !isForm && !text.startsWith('eyJ'))) {
    const value = parseJson(text);
    if (value !== undefined) return { value, isJson: true };
    return { unreadable: `its body is not JSON, or is cut off. ${WRONG_PLACE}` };
  }
  return { value: isForm ? Object.fromEntries(new URLSearchParams(text)) : text, isJson: false };
}

const WRONG_PLACE =
  "Check the service's authUrl and tokenPath, and its headers: some services need `accept: application/json`.";

const TOKEN_TYPE = /^(?:text\/plain)?$|\b(?:json|jwt|x-www-form-urlencoded)$/;

/** A padding `=` of base64 is the last character, or another `=` follows. */
const LOOKS_LIKE_FORM = /^[\w.-]{1,64}=[^=]/;

/** Prints a member's path, the outermost name first, without revealing a value of the answer. */
export type PrintPath = (path: readonly string[]) => string;

/** An object of an answer, with its path. */
export interface Level {
  readonly path: readonly string[];
  readonly members: Readonly<Record<string, unknown>>;
}

/** A member of an answer, with the objects around it, the nearest object first. */
export interface FoundMember {
  readonly path: readonly string[];
  readonly value: unknown;
  readonly around: readonly Level[];
}

/** The member that contains the token, without `Bearer ` before it. */
export type FoundToken = FoundMember & { readonly value: string };

/** An answer without a usable token. The message names the fault and the setting that would help. */
export class UnusableAnswer extends Error {
  override readonly name = 'UnusableAnswer';
}

/**
 * Turns `accessToken`, `access_token`, `Access-Token` and `access.token` into one name, and a too long name into
 * `""`.
 */
export function plainName(name: string): string {
  return name.length > MAX_NAME_LENGTH ? '' : plainText(name);
}

export function plainText(text: string): string {
  return text.toLowerCase().replace(/[-_. ]/g, '');
}

export const MAX_NAME_LENGTH = 64;

/**
 * Lists the members of the outermost object and two levels below, in this order. Skips the inside of a refresh
 * token.
 */
export function listMembers(answer: unknown): readonly FoundMember[] {
  const found: FoundMember[] = [];
  const objects: FoundMember[] = [{ path: [], value: answer, around: [] }];
  // The loop extends the list that it walks. Outer members come first.
  for (const object of objects) {
    const level = enter(object);
    if (level === undefined) continue;
    for (const name of Object.keys(level.members)) {
      if (found.length === MAX_MEMBERS) return found;
      const member = memberOf(level, name, object);
      found.push(member);
      const mayBeOfRefresh = name.length > MAX_NAME_LENGTH || plainName(name).startsWith('refresh');
      if (member.around.length <= MAX_DEPTH && !mayBeOfRefresh) objects.push(member);
    }
  }
  return found;
}

/** Returns the member at an exact dotted path such as `data.token` or `tokens.1`. The path `$` is the answer itself. */
export function memberAt(answer: unknown, dottedPath: string): FoundMember | undefined {
  let member: FoundMember = { path: [], value: answer, around: [] };
  for (const name of dottedPath === '$' ? [] : dottedPath.split('.')) {
    const level = enter(member, name);
    if (level === undefined || !Object.hasOwn(level.members, name)) return undefined;
    member = memberOf(level, name, member);
  }
  return member;
}

function memberOf(level: Level, name: string, { around }: FoundMember): FoundMember {
  return { path: [...level.path, name], value: level.members[name], around: [level, ...around] };
}

/** Returns an object as it is. An array yields its only entry, or all its entries if the name is an index. */
function enter({ value, path }: FoundMember, name = ''): Level | undefined {
  if (isRecord(value)) return { path, members: value };
  if (!Array.isArray(value)) return undefined;
  if (/^\d+$/.test(name)) return { path, members: { ...value } };
  const only: unknown = value.length === 1 ? value[0] : undefined;
  return isRecord(only) ? { path: [...path, '0'], members: only } : undefined;
}

const MAX_MEMBERS = 1_000;
const MAX_DEPTH = 2;
