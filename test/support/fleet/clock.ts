interface Timer {
  readonly at: number;
  readonly order: number;
  readonly wake: () => void;
}

/** Time that passes only when all code waits for it: a day in seconds, and every run the same. */
export class VirtualClock {
  #now: number;
  #order = 0;
  #events = 0;
  /** A binary heap: no timer is earlier than its parent, which is at half of its place. */
  readonly #heap: Timer[] = [];
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
    this.#add({ at: this.#now + Math.max(0, ms), order: this.#order++, wake });
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
  async settle(isEnough = () => false): Promise<void> {
    for (;;) {
      // All promise jobs run before the next tick. A turn of the event loop, in which signals are heard, costs ten times as much.
      if (this.#events++ % EVENTS_PER_TURN === 0) await new Promise((resolve) => setImmediate(resolve));
      else await new Promise<void>((resolve) => process.nextTick(resolve));
      const next = isEnough() ? undefined : this.#next();
      if (next === undefined) return;
      this.#now = Math.max(this.#now, next.at);
      next.wake();
    }
  }

  #next(): Timer | undefined {
    if (this.#pickDue === undefined) return this.#removeFirst();
    const due: Timer[] = [];
    while ((this.#heap[0]?.at ?? Infinity) <= this.#now) due.push(...[this.#removeFirst()].filter(isTimer));
    const [next] = due.length > 1 ? due.splice(this.#pickDue(due.length), 1) : due.splice(0, 1);
    for (const other of due) this.#add(other);
    return next ?? this.#removeFirst();
  }

  #add(timer: Timer): void {
    const heap = this.#heap;
    let place = heap.push(timer) - 1;
    while (place > 0) {
      const above = (place - 1) >> 1;
      const parent = heap[above];
      if (parent === undefined || isEarlier(parent, timer)) break;
      heap[place] = parent;
      place = above;
    }
    heap[place] = timer;
  }

  #removeFirst(): Timer | undefined {
    const heap = this.#heap;
    const first = heap[0];
    const moved = heap.pop();
    if (moved === undefined || moved === first) return first;
    let place = 0;
    for (;;) {
      const left = 2 * place + 1;
      const [one, other] = [heap[left], heap[left + 1]];
      if (one === undefined) break;
      const isRight = other !== undefined && isEarlier(other, one);
      const child = isRight ? other : one;
      if (!isEarlier(child, moved)) break;
      heap[place] = child;
      place = isRight ? left + 1 : left;
    }
    heap[place] = moved;
    return first;
  }
}

function isEarlier(one: Timer, other: Timer): boolean {
  return one.at < other.at || (one.at === other.at && one.order < other.order);
}

function isTimer(timer: Timer | undefined): timer is Timer {
  return timer !== undefined;
}

const EVENTS_PER_TURN = 4_096;
