import type { Pair } from '../pair/pair.ts';
import type { ProbeObservation } from './transitions.ts';

/** Asks the broker for a token as the role that must be refused. Never throws, and ends within the time it is given. */
export type AskAsProbe = (pair: Pair, timeoutMs: number) => Promise<ProbeAnswer>;

export interface ProbeAnswer {
  /** `denied`: refused as it must be. `not-denied`: the broker did more than that. `unproven`: nobody can say. */
  readonly condition: ProbeObservation['condition'];
  /** What was answered, or why nothing was, as one word. */
  readonly said: string;
}

interface Dependencies {
  readonly askAsProbe: AskAsProbe;
  readonly now: () => number;
  readonly sleep: (ms: number) => Promise<unknown>;
}

/** Proves that whoever has no access rule is refused; what proves nothing is tried again before anybody is alarmed. */
export async function probeAccess(
  pair: Pair,
  endsAt: number,
  { askAsProbe, now, sleep }: Dependencies,
): Promise<ProbeAnswer> {
  for (let attempt = 1; ; attempt += 1) {
    const answer = await askAsProbe(pair, Math.max(1, Math.min(TIMEOUT_MS, endsAt - now())));
    const isLast = attempt === MAX_ATTEMPTS || now() + PEACE_MS >= endsAt;
    if (answer.condition !== 'unproven' || isLast) return answer;
    await sleep(PEACE_MS);
  }
}

export function probeObservation({ condition, said }: ProbeAnswer, at: number): ProbeObservation {
  return { kind: 'probe', condition, since: at, at, detail: `The answer was: ${said}.` };
}

const MAX_ATTEMPTS = 3;
const PEACE_MS = 5_000;
/** Longer than the broker's function can take. */
const TIMEOUT_MS = 20_000;
