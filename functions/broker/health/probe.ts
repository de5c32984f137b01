import type { Pair } from '../pair/pair.ts';
import { CHECK_TIMEOUT_MS } from './check-pairs.ts';
import type { ProbeObservation } from './transitions.ts';

/** Asks the broker for a token as the role that must be refused. Never throws, and ends within the time it is given. */
export type AskAsProbe = (pair: Pair, timeoutMs: number) => Promise<ProbeAnswer>;

export interface ProbeAnswer {
  /** `denied`: refused as it must be. `not-denied`: the broker did more than that. `unproven`: the answer tells neither. */
  readonly condition: ProbeObservation['condition'];
  /** What was answered, or why nothing was, as one word. */
  readonly said: string;
}

interface Dependencies {
  readonly askAsProbe: AskAsProbe;
  readonly now: () => number;
  readonly sleep: (ms: number) => Promise<unknown>;
}

/** Proves that a role without an access rule is refused; what proves nothing is tried again before it is told. */
export async function probeAccess(
  pair: Pair,
  endsAt: number,
  { askAsProbe, now, sleep }: Dependencies,
): Promise<ProbeAnswer> {
  for (let attempt = 1; ; attempt += 1) {
    const answer = await askAsProbe(pair, Math.max(1, Math.min(CHECK_TIMEOUT_MS, endsAt - now())));
    const isLast = attempt === MAX_ATTEMPTS || now() + BETWEEN_ATTEMPTS_MS >= endsAt;
    if (answer.condition !== 'unproven' || isLast) return answer;
    await sleep(BETWEEN_ATTEMPTS_MS);
  }
}

const MAX_ATTEMPTS = 3;
const BETWEEN_ATTEMPTS_MS = 5_000;
