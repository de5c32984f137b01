/**
 * Returns whether a text is a word that a developer chose, such as `expiresIn`, `oauth2_token` or `ECONNRESET`.
 * A random text, such as a token or a password, changes between cases and digits too often.
 */
export function isPlainWord(text: string, maxLength = 32): boolean {
  if (text.length > maxLength || !/^[\w.-]+$/.test(text)) return false;
  const digits = text.replace(/\D/g, '').length;
  const parts = text.match(PART) ?? [];
  return digits <= MAX_DIGITS && (parts.length <= 2 || (text.length - digits) / parts.length >= MIN_LETTERS);
}

/** Letters that form a word, and the number behind them. */
const PART = /(?:[A-Z]+(?![a-z])|[A-Z]?[a-z]+)\d*|\d+/g;
const MAX_DIGITS = 2;
/** The average over all parts. */
const MIN_LETTERS = 3;
