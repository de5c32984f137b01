interface Timer {
  readonly at: number;
  readonly order: number;
  readonly wake: () => void;
}

/** Time that passes only when all code waits for it: hours in milliseconds, and every run the same. */
export class VirtualClock {
  #now: number;
  #order = 0;
  readonly #timers: Timer[] = [];
  readonly #pickDue: (count: number) => number;

  /** @param pickDue which of so many timers that are due comes next; the oldest when left out */
  constructor(start: number, pickDue: (count: number) => number = () => 0) {
    this.#now = start;
    this.#pickDue = pickDue;
  }

  readonly now = (): number => this.#now;

  readonly sleep = (ms: number): Promise<void> =>
    new Promise((wake) => {
      this.#timers.push({ at: this.#now + Math.max(0, ms), order: this.#order++, wake });
      this.#timers.sort((a, b) => a.at - b.at || a.order - b.order);
    });

  /** Lets time pass until the work is done. */
  async run<Result>(work: Promise<Result>): Promise<Result> {
    let isDone = false;
    const done = () => {
      isDone = true;
    };
    work.then(done, done);
    await this.settle(() => isDone);
    if (!isDone) throw new Error('the work waits for something that will never happen');
    return work;
  }

  /** Lets this much time pass. */
  async advance(ms: number): Promise<void> {
    await this.run(this.sleep(ms));
  }

  /** Lets time pass until it is enough, or no code waits for it any more. */
  async settle(isEnough = () => false): Promise<void> {
    for (;;) {
      // Runs all ready work: promise jobs all run before the next immediate.
      await new Promise((resolve) => setImmediate(resolve));
      const due = this.#timers.filter(({ at }) => at <= this.#now).length;
      const [next] = isEnough() ? [] : this.#timers.splice(due > 1 ? this.#pickDue(due) : 0, 1);
      if (next === undefined) return;
      this.#now = Math.max(this.#now, next.at);
      next.wake();
    }
  }
}
