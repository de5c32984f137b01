/** Lets everything through until ten fail in a row, and from then on every tenth, until one succeeds. */
export class Sampler<Item> {
  #failuresInARow = 0;
  #passedOver = 0;
  readonly #leftOut: Item[] = [];

  /** Whether this one is left out. It is kept until it is taken back. */
  leavesOut(item: Item): boolean {
    if (!this.#isSampling()) return false;
    this.#passedOver = (this.#passedOver + 1) % SAMPLED;
    if (this.#passedOver === 0) return false;
    this.#leftOut.push(item);
    return true;
  }

  note(hasFailed: boolean): void {
    this.#failuresInARow = hasFailed ? this.#failuresInARow + 1 : 0;
  }

  /** Those that need not be left out any longer. */
  takeBack(): readonly Item[] {
    return this.#isSampling() ? [] : this.#leftOut.splice(0);
  }

  get leftOut(): readonly Item[] {
    return this.#leftOut;
  }

  #isSampling(): boolean {
    return this.#failuresInARow >= ENOUGH_FAILURES;
  }
}

const ENOUGH_FAILURES = 10;
const SAMPLED = 10;
