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
  if (/^[{["]/.test(text)) return parseJson(text);
  if (type === FORM || LOOKS_LIKE_FORM.test(text)) {
    return { value: Object.fromEntries(new URLSearchParams(text)), isJson: false };
  }
  // A raw JWT is unmistakable; any other word in a body declared as JSON may be a broken rest.
  return isJsonType && !text.startsWith('eyJ') ? parseJson(text) : { value: text, isJson: false };
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

function parseJson(text: string): DecodedBody {
  try {
    return { value: JSON.parse(text), isJson: true };
  } catch {
    return { unreadable: `its body is not JSON, or is cut off. ${WRONG_PLACE}` };
  }
}
