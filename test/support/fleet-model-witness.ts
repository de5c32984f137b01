import { type Pair, pairKey } from '../../functions/broker/pair/pair.ts';

/** Knows what may excuse an environment at some moment; the model accuses only environments without an excuse. */
export interface Witness {
  /** A call of this environment to the store has failed since then. */
  readonly hasStoreFailed: (environment: number, since: number) => boolean;
  readonly isDead: (environment: number) => boolean;
  /** A clock of the fleet has been wrong by more than the skew. */
  readonly hasAnyClockJumped: () => boolean;
  readonly accuse: (of: string) => void;
}

/** Two environments are at most this far apart. */
export const MAX_SKEW_MS = 4_000;

/** No call lasts longer, nor anything that it has left behind. */
export const LONGEST_CALL_MS = 20_000;

export function isSamePair(one: Pair, other: Pair): boolean {
  return pairKey(one) === pairKey(other);
}
