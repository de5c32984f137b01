import TinyQueue from 'tinyqueue';

interface Timer {
  readonly at: number;
  /** Of those of one moment the first that was set comes first. */
  readonly order: number;
  readonly wake: () => void;
}

/** Time that passes only when all code waits for it: a day in seconds, and every run the same. */
export class VirtualClock {
  #now: number;
  #events = 0;
  /** How often this moment was asked for: a loop that never waits would stop the clock, and the test, for good. */
  #looks = 0;
  #order = 0;
  readonly #timers = new TinyQueue<Timer>([], (one, other) => one.at - other.at || one.order - other.order);
  readonly #pickDue: ((count: number) => number) | undefined;

  /** @param pickDue which of so many timers that are due comes next; the oldest when left out */
  constructor(start: number, pickDue?: (count: number) => number) {
    this.#now = start;
    this.#pickDue = pickDue;
  }

  readonly now = (): number => {
    if (this.#looks++ > MAX_LOOKS) throw new Error('the code goes round in circles');
    return this.#now;
  };

  readonly sleep = (ms: number): Promise<void> => new Promise((wake) => this.after(ms, wake));

  after(ms: number, wake: () => void): void {
    this.#timers.push({ at: this.#now + Math.max(0, ms), order: this.#order++, wake });
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
        if (timer.at > this.#now) this.#looks = 0;
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
    const next = this.#timers.pop();
    if (next === undefined || this.#pickDue === undefined) return next;
    const due = [next];
    for (let other = this.#timers.peek(); other && other.at <= this.#now; other = this.#timers.peek()) {
      due.push(other);
      this.#timers.pop();
    }
    const [picked] = due.splice(due.length > 1 ? this.#pickDue(due.length) : 0, 1);
    for (const timer of due) this.#timers.push(timer);
    return picked;
  }
}

/** Far more often than all instances of a test read the clock at one moment. */
const MAX_LOOKS = 100_000;
const EVENTS_PER_TURN = 4_096;
