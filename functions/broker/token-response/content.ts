import { decodeText, mediaTypeOf, parseJson } from '../json.ts';

/** The raw answer of a token endpoint. Header names are lower-case. Repeated headers are joined by `, `. */
export interface TokenResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

/** The content of an answer: an object, an array or a text. */
export interface Content {
  readonly value?: unknown;
  /** The body is JSON, or is declared as a form. */
  readonly isStructured?: boolean;
  /** The reason why the value cannot contain a token, unless the settings call the whole text the token. */
  readonly doubt?: string;
}

/**
 * Reads the body of an answer as JSON, as a form or as a bare text. Judges by the content, because services send wrong
 * media types. A page, such as a log-in form or that of a proxy, is never JSON, a form or a word.
 *
 * @see RFC 6749 §5.1, RFC 8259 §8.1
 */
export function readContent(response: TokenResponse): Content {
  const text = readText(response);
  const type = mediaTypeOf(response.headers['content-type']);
  if (text === '') return { doubt: `its body is empty. ${WRONG_PLACE}` };
  if (/^[{["]/.test(text)) {
    const value = parseJson(text);
    return value === undefined ? { doubt: NO_JSON } : { value, isStructured: true };
  }
  const hasTokens = TOKEN_TYPE.test(type);
  const isStructured = /\bx-www-form-urlencoded$/.test(type);
  if ((isStructured || LOOKS_LIKE_FORM.test(text)) && (hasTokens || WORD.test(text))) {
    return { value: Object.fromEntries(new URLSearchParams(text)), isStructured };
  }
  // A raw JWT is unmistakable. Any other word in a body declared as JSON may be truncated JSON.
  if (/^(?:bearer )?eyJ/i.test(text) || (hasTokens && !/\bjson$/.test(type))) return { value: text };
  return { value: WORD.test(text) ? text : undefined, doubt: hasTokens ? NO_JSON : WRONG_TYPE };
}

/**
 * Returns the text of a body without white space around it. The charset is that of its byte order mark, else the
 * declared, else UTF-8, else Latin-1. Only members beside the token need a charset, because a token is
 * ASCII. Every content begins with ASCII, too.
 */
function readText({ headers, body }: TokenResponse): string {
  const [, declared] = /;\s*charset\s*=\s*["']?([\w.:-]+)/i.exec(headers['content-type'] ?? '') ?? [];
  const marked = body[0] === 0xfe && body[1] === 0xff ? 'utf-16be' : body[0] === 0xff && body[1] === 0xfe && 'utf-16le';
  const texts = [marked || (declared ?? 'utf-8'), 'utf-8', 'latin1'].map((charset) =>
    decodeText(body, charset)?.trim(),
  );
  return texts.find((text) => text !== undefined && !/^[^!-~]/.test(text)) ?? texts.at(-1) ?? '';
}

/** Returns the object, the array or the text in a JSON text, also in a JSON text of a JSON text. */
export function openText(value: unknown): unknown {
  const inner = typeof value === 'string' && /^\s*["{[]/.test(value) ? parseJson(value) : undefined;
  return inner === undefined ? value : openText(inner);
}

const WRONG_PLACE =
  "Check the service's authUrl and tokenPath, and its headers: some services need `accept: application/json`.";
const NO_JSON = `its body is not JSON, or is cut off. ${WRONG_PLACE}`;
const WRONG_TYPE = `its content type is not JSON, a form, plain text or a JWT. ${WRONG_PLACE}`;

const TOKEN_TYPE = /^(?:text\/plain)?$|\b(?:json|jwt|x-www-form-urlencoded)$/;

/** A padding `=` of base64 is the last character, or another `=` follows. */
const LOOKS_LIKE_FORM = /^[\w.-]{1,64}=[^=]/;

/** Contains no quotes or brackets, and white space only after `Bearer`. A page or a program contains some. */
const WORD = /^(?:bearer )?[^\s"'`<>(){}[\]]+$/i;
