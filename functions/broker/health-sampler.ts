/** Lets everything through until ten fail in a row, and from then on every tenth, until one succeeds. */
export class Sampler {
  #failuresInARow = 0;
  #passedOver = 0;

  isSampling(): boolean {
    return this.#failuresInARow >= ENOUGH_FAILURES;
  }

  /** Whether the next one is left out. */
  passesOver(): boolean {
    if (!this.isSampling()) return false;
    this.#passedOver = (this.#passedOver + 1) % SAMPLED;
    return this.#passedOver !== 0;
  }

  note(hasFailed: boolean): void {
    this.#failuresInARow = hasFailed ? this.#failuresInARow + 1 : 0;
  }
}

const ENOUGH_FAILURES = 10;
const SAMPLED = 10;
