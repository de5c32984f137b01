import type { TokenRequest } from './answers.ts';

/**
 * When longer-living tokens were last asked for, by pair. The broker fetches one at most every 30 s for that reason, and
 * none when the service's tokens never live that long: asking more often brings nothing.
 */
export class MinTtlMemory {
  readonly #asked = new Map<string, { readonly at: number; readonly minTtl: number }>();
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  note(pair: string, { minTtl = 0 }: TokenRequest): void {
    if (minTtl > 0) this.#asked.set(pair, { at: this.#now(), minTtl });
  }

  mayAsk(pair: string, { minTtl = 0 }: TokenRequest): boolean {
    const last = this.#asked.get(pair);
    return last === undefined || minTtl > last.minTtl || this.#now() - last.at >= INTERVAL_MS;
  }
}

const INTERVAL_MS = 30_000;
