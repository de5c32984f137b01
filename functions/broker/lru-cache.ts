/** A bounded map that drops its least recently used entries. */
export class LruCache<Value> {
  readonly #entries = new Map<string, Value>();
  readonly #maxEntries: number;
  readonly #maxBytes: number;
  readonly #bytesOf: (value: Value) => number;
  #bytes = 0;

  /** @param bytesOf may estimate, but must return the same number for the same value */
  constructor(maxEntries: number, maxBytes = Infinity, bytesOf: (value: Value) => number = () => 0) {
    this.#maxEntries = maxEntries;
    this.#maxBytes = maxBytes;
    this.#bytesOf = bytesOf;
  }

  /** From the least to the most recently used. */
  keys(): readonly string[] {
    return [...this.#entries.keys()];
  }

  get(key: string): Value | undefined {
    const value = this.#entries.get(key);
    if (value === undefined) return undefined;
    this.#entries.delete(key);
    this.#entries.set(key, value);
    return value;
  }

  set(key: string, value: Value): void {
    this.delete(key);
    this.#entries.set(key, value);
    this.#bytes += this.#bytesOf(value);
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size <= this.#maxEntries && this.#bytes <= this.#maxBytes) return;
      this.delete(oldest);
    }
  }

  delete(key: string): void {
    const value = this.#entries.get(key);
    if (value !== undefined) this.#bytes -= this.#bytesOf(value);
    this.#entries.delete(key);
  }
}
