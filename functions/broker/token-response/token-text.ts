import { readJwtTimes } from './jwt.ts';

/** The token without `Bearer ` before it, which services that mean to be helpful send; no token holds a space. */
export function withoutScheme(text: string): string {
  return text.replace(/^bearer +/i, '');
}

/**
 * Why a text cannot be a token, undefined when it can: 1 to 65 536 visible ASCII characters.
 *
 * @see RFC 6749 appendix A.12, RFC 6750 §2.1
 */
export function flawOf(token: string): string | undefined {
  if (token === '') return 'is empty';
  if (token.length > MAX_TOKEN_LENGTH) return 'is longer than 64 KiB';
  return VISIBLE_ASCII.test(token) ? undefined : 'holds a space, a control character or one beyond ASCII';
}

/** Whether a text that no name calls a token is one: a JWT, or an opaque word unlike `Unauthorized` or `invalid_client`. */
export function looksLikeToken(text: string): boolean {
  return readJwtTimes(text) !== undefined || isOpaqueWord(text);
}

const MAX_TOKEN_LENGTH = 65_536;
const VISIBLE_ASCII = /^[\x21-\x7e]+$/;

function isOpaqueWord(text: string): boolean {
  if (text.length < 8 || !OPAQUE_WORD.test(text) || !/[a-z]/i.test(text)) return false;
  if (text.length < 40 && FAILURE_WORD.test(text)) return false;
  return /\d/.test(text) || text.length >= 16;
}

const OPAQUE_WORD = /^[\w.~+/=:|!*$@-]+$/;
const FAILURE_WORD =
  /error|failed|failure|invalid|denied|unauthori|forbidden|exception|unavailable|expired|not.?found/i;
