import type { EventClock, Reachable } from './event-clock.ts';

/** Surrounds one instance. While it is frozen, answers and ended sleeps wait for the thaw; a crash drops them. */
export class Sandbox implements Reachable {
  readonly #clock: EventClock;
  #state: 'running' | 'frozen' | 'crashed' = 'frozen';
  #waiting: (() => void)[] = [];

  constructor(clock: EventClock) {
    this.#clock = clock;
  }

  readonly sleep = (ms: number): Promise<void> => new Promise((wake) => this.after(ms, wake));

  /** After this time something comes to the instance from outside. */
  after(ms: number, action: () => void): void {
    this.#clock.after(ms, () => {
      if (this.#state === 'running') action();
      if (this.#state === 'frozen') this.#waiting.push(action);
    });
  }

  thaw(): void {
    this.#state = 'running';
    for (const action of this.#waiting.splice(0)) action();
  }

  freeze(): void {
    if (this.#state === 'running') this.#state = 'frozen';
  }

  crash(): void {
    this.#state = 'crashed';
  }
}
