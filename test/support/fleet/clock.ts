interface Timer {
  readonly at: number;
  readonly order: number;
  readonly wake: () => void;
  /** Two heaps of later ones. */
  one: Timer | undefined;
  other: Timer | undefined;
}

/** Time that passes only when all code waits for it: a day in seconds, and every run the same. */
export class VirtualClock {
  #now: number;
  #order = 0;
  #events = 0;
  #first: Timer | undefined;
  readonly #pickDue: ((count: number) => number) | undefined;

  /** @param pickDue which of so many timers that are due comes next; the oldest when left out */
  constructor(start: number, pickDue?: (count: number) => number) {
    this.#now = start;
    this.#pickDue = pickDue;
  }

  readonly now = (): number => this.#now;

  readonly sleep = (ms: number): Promise<void> => new Promise((wake) => this.after(ms, wake));

  /** Timers of the same moment end in the order in which they were set. */
  after(ms: number, wake: () => void): void {
    const timer = { at: this.#now + Math.max(0, ms), order: this.#order++, wake, one: undefined, other: undefined };
    this.#first = merged(this.#first, timer);
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
    if (this.#pickDue === undefined) return this.#removeFirst();
    const due: Timer[] = [];
    for (let first = this.#first; first !== undefined && first.at <= this.#now; first = this.#first) {
      due.push(first);
      this.#removeFirst();
    }
    const [picked] = due.splice(due.length > 1 ? this.#pickDue(due.length) : 0, 1);
    for (const left of due) this.#first = merged(this.#first, left);
    return picked ?? this.#removeFirst();
  }

  #removeFirst(): Timer | undefined {
    const first = this.#first;
    this.#first = merged(first?.one, first?.other);
    if (first !== undefined) first.one = first.other = undefined;
    return first;
  }
}

/** A skew heap: the two branches change places with every timer that comes in, so neither grows long. */
function merged(one: Timer | undefined, other: Timer | undefined): Timer | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  const isEarlier = one.at < other.at || (one.at === other.at && one.order < other.order);
  const [first, later] = isEarlier ? [one, other] : [other, one];
  [first.one, first.other] = [merged(first.other, later), first.one];
  return first;
}

const EVENTS_PER_TURN = 4_096;
