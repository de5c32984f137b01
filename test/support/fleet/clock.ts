interface Timer {
  readonly at: number;
  readonly wake: () => void;
}

/** Time that passes only when all code waits for it: a day in seconds, and every run the same. */
export class VirtualClock {
  #now: number;
  #events = 0;
  /** Those up to the end of a minute, in the order in which they end; of the same moment, in the order in which they were set. */
  #soon: Timer[] = [];
  #minute: number;
  /** Those of later minutes, in the order in which they were set. */
  readonly #later = new Map<number, Timer[]>();
  readonly #pickDue: ((count: number) => number) | undefined;

  /** @param pickDue which of so many timers that are due comes next; the oldest when left out */
  constructor(start: number, pickDue?: (count: number) => number) {
    this.#now = start;
    this.#minute = minuteOf(start);
    this.#pickDue = pickDue;
  }

  readonly now = (): number => this.#now;

  readonly sleep = (ms: number): Promise<void> => new Promise((wake) => this.after(ms, wake));

  after(ms: number, wake: () => void): void {
    const timer = { at: this.#now + Math.max(0, ms), wake };
    const minute = minuteOf(timer.at);
    if (minute <= this.#minute) this.#soon.splice(this.#placeOf(timer), 0, timer);
    else if (!this.#later.get(minute)?.push(timer)) this.#later.set(minute, [timer]);
  }

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
  settle(isEnough = () => false): Promise<void> {
    return new Promise((resolve, reject) => {
      const next = () => {
        const timer = isEnough() ? undefined : this.#next();
        if (timer === undefined) return resolve();
        this.#now = Math.max(this.#now, timer.at);
        try {
          timer.wake();
        } catch (error) {
          return reject(error);
        }
        wait();
      };
      // All promise jobs run before the next tick. A turn of the event loop, in which signals are heard, costs ten times as much.
      const wait = () => {
        if (this.#events++ % EVENTS_PER_TURN === 0) setImmediate(queueMicrotask, next);
        else process.nextTick(queueMicrotask, next);
      };
      wait();
    });
  }

  #next(): Timer | undefined {
    if (this.#soon.length === 0 && this.#later.size > 0) {
      this.#minute = Math.min(...this.#later.keys());
      this.#soon = (this.#later.get(this.#minute) ?? []).sort((one, other) => one.at - other.at);
      this.#later.delete(this.#minute);
    }
    const due = this.#pickDue && this.#placeOf({ at: this.#now });
    return due && due > 1 ? this.#soon.splice(this.#pickDue(due), 1)[0] : this.#soon.shift();
  }

  /** Behind all timers that end no later. */
  #placeOf({ at }: Pick<Timer, 'at'>): number {
    let [low, high] = [0, this.#soon.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#soon[middle]?.at ?? at) <= at) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

const minuteOf = (at: number) => Math.floor(at / 60_000);
const EVENTS_PER_TURN = 4_096;
