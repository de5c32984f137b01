import { mediaTypeOf, parseJson } from '../json.ts';

/** The content of an answer: an object, an array or a text. Without a value, `unreadable` is the reason. */
export type Content =
  | { readonly value: unknown; readonly isJson: boolean }
  | { readonly value?: undefined; readonly isJson: false; readonly unreadable: string };

/**
 * Reads a text as JSON, as a form or as a bare text. Judges by the content, because services send wrong media types.
 * Never reads a type without tokens, such as HTML, which proxies and log-in forms send.
 *
 * @see RFC 6749 §5.1, RFC 8259 §8.1
 */
export function readContent(text: string | undefined, contentType: string | undefined): Content {
  const type = mediaTypeOf(contentType);
  if (text === '') return unreadable(`its body is empty. ${WRONG_PLACE}`);
  if (!TOKEN_TYPE.test(type)) {
    return unreadable(`its content type is not JSON, a form, plain text or a JWT. ${WRONG_PLACE}`);
  }
  if (text === undefined) return unreadable('its body is not UTF-8.');
  const isForm = /\bx-www-form-urlencoded$/.test(type) || LOOKS_LIKE_FORM.test(text);
  // A raw JWT is unmistakable. Any other word in a body declared as JSON may be truncated JSON.
  if (/^[{["]/.test(text) || (/\bjson$/.test(type) && !isForm && !text.startsWith('eyJ'))) {
    const value = parseJson(text);
    if (value !== undefined) return { value, isJson: true };
    return unreadable(`its body is not JSON, or is cut off. ${WRONG_PLACE}`);
  }
  return { value: isForm ? Object.fromEntries(new URLSearchParams(text)) : text, isJson: false };
}

function unreadable(reason: string): Content {
  return { isJson: false, unreadable: reason };
}

const WRONG_PLACE =
  "Check the service's authUrl and tokenPath, and its headers: some services need `accept: application/json`.";

const TOKEN_TYPE = /^(?:text\/plain)?$|\b(?:json|jwt|x-www-form-urlencoded)$/;

/** A padding `=` of base64 is the last character, or another `=` follows. */
const LOOKS_LIKE_FORM = /^[\w.-]{1,64}=[^=]/;
