import { within } from './limits.ts';
import type { Patience } from './request.ts';

/** How long one of those who share work waits for it. */
export interface Waiting {
  readonly signal?: AbortSignal | undefined;
  /** Epoch milliseconds. */
  readonly deadline: number;
}

interface Flight<Value> {
  readonly outcome: Promise<Value>;
  readonly waiting: Set<Waiting>;
  readonly controller: AbortController;
}

/**
 * Work of which there is one per key at a time. Each caller waits as long as it wants to; the work goes on until the
 * latest of their deadlines, and ends early only when nobody waits any more.
 */
export class SharedFlights<Value> {
  readonly #flights = new Map<string, Flight<Value>>();
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** What the work under the key will give, while it goes on. */
  running(key: string): Promise<Value> | undefined {
    return this.#flights.get(key)?.outcome;
  }

  /** Joins the work under the key, or starts it. @throws TokenBrokerError `aborted`, `timeout`, or its failure */
  join(key: string, waiting: Waiting, work: (patience: Patience) => Promise<Value>): Promise<Value> {
    const { signal, deadline } = waiting;
    return within({ signal, timeoutMs: deadline - this.#now() }, async (stop) => {
      const flight = this.#flights.get(key) ?? this.#start(key, work, waiting);
      flight.waiting.add(waiting);
      const leave = () => this.#leave(key, flight, waiting);
      stop.addEventListener('abort', leave, { once: true });
      return flight.outcome;
    });
  }

  #start(key: string, work: (patience: Patience) => Promise<Value>, first: Waiting): Flight<Value> {
    const controller = new AbortController();
    const waiting = new Set([first]);
    const deadline = () => Math.max(...[...waiting].map((each) => each.deadline));
    const outcome = work({ signal: controller.signal, deadline }).finally(() => this.#remove(key, flight));
    const flight: Flight<Value> = { outcome, waiting, controller };
    this.#flights.set(key, flight);
    return flight;
  }

  #leave(key: string, flight: Flight<Value>, waiting: Waiting): void {
    flight.waiting.delete(waiting);
    if (flight.waiting.size > 0) return;
    // Whoever comes now starts anew: this one is ending.
    this.#remove(key, flight);
    flight.controller.abort();
  }

  #remove(key: string, flight: Flight<Value>): void {
    if (this.#flights.get(key) === flight) this.#flights.delete(key);
  }
}
