/** The time that requests are signed with: this machine's, corrected by what AWS says about it. */
export class SigningClock {
  readonly #now: () => number;
  #offsetMs = 0;

  /** @param now epoch milliseconds */
  constructor(now: () => number) {
    this.#now = now;
  }

  now(): number {
    return this.#now() + this.#offsetMs;
  }

  /** Takes over the time of an answer's `Date` header; tells whether that makes a difference to a signature. */
  correct(date: string | null | undefined): boolean {
    const told = Date.parse(date ?? '');
    if (Number.isNaN(told) || Math.abs(told - this.now()) < WORTH_CORRECTING_MS) return false;
    this.#offsetMs = told - this.#now();
    return true;
  }
}

/** AWS takes signatures that are up to five minutes off. */
const WORTH_CORRECTING_MS = 60_000;
