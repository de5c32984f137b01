/** Time that passes only when all code waits for it: hours in milliseconds, and every run the same. */
export class VirtualClock {
  #now: number;
  #order = 0;
  readonly #timers: { readonly at: number; readonly order: number; readonly wake: () => void }[] = [];

  constructor(start: number) {
    this.#now = start;
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
    for (;;) {
      await everyPromise();
      if (isDone) return work;
      const next = this.#timers.shift();
      if (next === undefined) throw new Error('the work waits for something that will never happen');
      this.#now = Math.max(this.#now, next.at);
      next.wake();
    }
  }

  /** Lets this much time pass. */
  async advance(ms: number): Promise<void> {
    await this.run(this.sleep(ms));
  }
}

/** Runs what is ready until nothing is: promise jobs all run before the next immediate. */
function everyPromise(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
