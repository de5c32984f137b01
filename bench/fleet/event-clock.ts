/** The target of a delayed action: the clock itself, or an instance, which may be frozen by then. */
export interface Reachable {
  after(ms: number, action: () => void): void;
}

/** Time that passes from one event to the next: a day in seconds, and every run the same. */
export class EventClock implements Reachable {
  #now: number;
  #order = 0;
  /** A binary heap: no event is earlier than its parent, which is at half of its place. */
  readonly #heap: Event[] = [];

  constructor(start: number) {
    this.#now = start;
  }

  /** Epoch milliseconds. */
  readonly now = (): number => this.#now;

  readonly sleep = (ms: number): Promise<void> => new Promise((wake) => this.after(ms, wake));

  /** Events of the same moment happen in the order in which they were planned. */
  after(ms: number, action: () => void): void {
    const event = { at: this.#now + Math.max(0, ms), order: this.#order++, action };
    const heap = this.#heap;
    let place = heap.push(event) - 1;
    while (place > 0) {
      const above = (place - 1) >> 1;
      const parent = heap[above];
      if (parent === undefined || isEarlier(parent, event)) break;
      heap[place] = parent;
      place = above;
    }
    heap[place] = event;
  }

  /** Lets time pass until then, or until `isStopped`; the work that an event has made ready runs before the next event. */
  async run(until: number, isStopped: () => boolean = () => false): Promise<void> {
    for (let events = 1; ; events += 1) {
      const next = this.#heap[0];
      if (next === undefined || next.at > until) break;
      if (events % EVENTS_BETWEEN_PAUSES === 0) {
        await realEvents();
        if (isStopped()) return;
      }
      this.#removeFirst();
      this.#now = next.at;
      next.action();
      await promiseJobs();
    }
    this.#now = until;
  }

  #removeFirst(): void {
    const heap = this.#heap;
    const moved = heap.pop();
    if (moved === undefined || heap.length === 0) return;
    let place = 0;
    for (;;) {
      const left = 2 * place + 1;
      const leftChild = heap[left];
      const rightChild = heap[left + 1];
      if (leftChild === undefined) break;
      const isRight = rightChild !== undefined && isEarlier(rightChild, leftChild);
      const child = isRight ? rightChild : leftChild;
      if (!isEarlier(child, moved)) break;
      heap[place] = child;
      place = isRight ? left + 1 : left;
    }
    heap[place] = moved;
  }
}

interface Event {
  readonly at: number;
  readonly order: number;
  readonly action: () => void;
}

function isEarlier(one: Event, other: Event): boolean {
  return one.at < other.at || (one.at === other.at && one.order < other.order);
}

/** Node runs the next tick when no promise job is left; that costs a tenth of a turn of the event loop. */
function promiseJobs(): Promise<void> {
  return new Promise((resolve) => process.nextTick(resolve));
}

/** A turn of the event loop, so that signals and messages are heard. */
function realEvents(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

const EVENTS_BETWEEN_PAUSES = 4_096;
