import type { TokenResponse } from './types.ts';

/** What the body of a token response holds: a parsed value, or why there is none. */
export type DecodedBody =
  | { readonly format: 'json' | 'form' | 'text'; readonly value: unknown }
  | { readonly format: 'unreadable'; readonly value?: undefined; readonly reason: string };

/**
 * Decodes a body as UTF-8 (a byte order mark is ignored) and then by what it looks like, because services mislabel
 * what they send:
 *
 * 1. JSON, when it begins with `{`, `[` or `"`. A member that occurs twice has its last value.
 * 2. `application/x-www-form-urlencoded`, when declared so or when it begins with `name=value`.
 * 3. A bare text, when it is declared as plain text, as a JWT, not at all, or is a JWT in a body declared as JSON.
 *
 * A declared type that cannot hold a token, such as HTML or XML, is never read: pages of proxies and log-in forms have
 * it.
 *
 * @see RFC 6749 §5.1, RFC 8259 §8.1
 */
export function decodeBody({ headers, body }: TokenResponse): DecodedBody {
  const type = mediaTypeOf(headers['content-type']);
  const encoding = headers['content-encoding']?.trim().toLowerCase();
  if (encoding !== undefined && encoding !== '' && encoding !== 'identity') {
    return unreadable('its body is compressed, although the token request asks for identity.');
  }
  if (body.length > MAX_BODY_BYTES) return unreadable('its body is larger than 256 KiB.');
  if (body.length === 0) return unreadable(`its body is empty. ${WRONG_PLACE}`);
  if (!isReadable(type)) {
    return unreadable(`its content type is not JSON, a form, plain text or a JWT. ${WRONG_PLACE}`);
  }
  const text = decodeUtf8(body);
  if (text === undefined) return unreadable('its body is not UTF-8.');
  if (text === '') return unreadable(`its body is empty. ${WRONG_PLACE}`);
  return parse(text, type);
}

/** Larger than any token and what comes with it; more is an attack or a mistake. */
const MAX_BODY_BYTES = 256 * 1_024;

const WRONG_PLACE =
  "Check the service's authUrl and tokenPath, and its headers: some services need `accept: application/json`.";

function unreadable(reason: string): DecodedBody {
  return { format: 'unreadable', reason };
}

function isReadable(type: string | undefined): boolean {
  return type === undefined || isJson(type) || OTHER_TYPES.has(type) || type.endsWith('+jwt');
}

function isJson(type: string): boolean {
  return JSON_TYPES.has(type) || type.endsWith('+json');
}

const FORM = 'application/x-www-form-urlencoded';
const JSON_TYPES: ReadonlySet<string> = new Set(['application/json', 'text/json', 'application/x-json']);
const OTHER_TYPES: ReadonlySet<string> = new Set(['text/plain', 'application/jwt', FORM]);

function decodeUtf8(body: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(body).trim();
  } catch {
    return undefined;
  }
}

function parse(text: string, type: string | undefined): DecodedBody {
  if (/^[{["]/.test(text)) return parseJson(text);
  if (type === FORM || LOOKS_LIKE_FORM.test(text)) {
    return { format: 'form', value: Object.fromEntries(new URLSearchParams(text)) };
  }
  // A raw JWT is unmistakable; any other word in a body declared as JSON may be a broken rest.
  if (type !== undefined && isJson(type) && !text.startsWith('eyJ')) return parseJson(text);
  return { format: 'text', value: text };
}

/** The `=` that pads base64 is followed by nothing or by another one. */
const LOOKS_LIKE_FORM = /^[\w.-]{1,64}=[^=]/;

function parseJson(text: string): DecodedBody {
  try {
    return { format: 'json', value: JSON.parse(text) };
  } catch {
    return unreadable(`its body is not JSON, or is cut off. ${WRONG_PLACE}`);
  }
}

/**
 * The media type of a `content-type` header, in lower case and without parameters; undefined when it names none.
 *
 * @see RFC 9110 §8.3.1
 */
export function mediaTypeOf(contentType: string | undefined): string | undefined {
  return contentType?.split(';', 1)[0]?.trim().toLowerCase() || undefined;
}
