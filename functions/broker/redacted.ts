/** A secret text: every way to print it shows `[redacted]`; only `reveal` gives it away. */
export class Redacted {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  reveal(): string {
    return this.#text;
  }

  toString(): string {
    return REDACTED;
  }

  toJSON(): string {
    return REDACTED;
  }

  /** What Node's `util.inspect` and `console.log` show; the symbol is registered, so nothing of Node is imported. */
  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return REDACTED;
  }
}

const REDACTED = '[redacted]';

/**
 * Whether a value of an answer, or any name or value within it, shows a secret text. A short text is shown only by what is
 * nothing else: other words may well contain it.
 */
export function shows(value: unknown, secret: string): boolean {
  if (typeof value === 'string') return value === secret || (secret.length >= MIN_CONTAINED && value.includes(secret));
  if (typeof value === 'number') return `${value}` === secret;
  if (typeof value !== 'object' || value === null) return false;
  return Object.entries(value).some(([name, one]) => shows(name, secret) || shows(one, secret));
}

const MIN_CONTAINED = 8;

/**
 * Whether a text is a word that a developer chose to be read, such as `expiresIn`, `oauth2_token` or `ECONNRESET`. What a
 * machine made up, a token or a password, is none: its letters change between cases, and to digits, too often.
 */
export function isPlainWord(text: string, maxLength = 32): boolean {
  if (text.length > maxLength || !/^[\w.-]+$/.test(text)) return false;
  const digits = text.replace(/\D/g, '').length;
  const parts = text.match(PART) ?? [];
  return digits <= MAX_DIGITS && (parts.length <= 2 || (text.length - digits) / parts.length >= MIN_LETTERS);
}

/** Letters that are written as one word, and the number behind them. */
const PART = /(?:[A-Z]+(?![a-z])|[A-Z]?[a-z]+)\d*|\d+/g;
const MAX_DIGITS = 2;
/** On average. */
const MIN_LETTERS = 3;
