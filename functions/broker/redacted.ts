/** A secret text: whatever prints it shows `[redacted]`; only `reveal` gives it away. */
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
