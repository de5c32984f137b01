import type { Rejection } from './record.ts';

/** A rejected version gets two more chances; then only an operator, or a new version, opens the way again. */
export function isLatched(rejection: Rejection | undefined, now: number): boolean {
  if (rejection === undefined) return false;
  const delayMs = CHANCE_DELAYS_MS[rejection.count - 1];
  return delayMs === undefined || now < rejection.at + delayMs;
}

const MINUTE_MS = 60_000;

/** After the first and after the second rejected request. With the first one this makes three: the lock-out budget. */
const CHANCE_DELAYS_MS = [15 * MINUTE_MS, 120 * MINUTE_MS];

/** How long an environment latches by itself while the shared store cannot be told. */
export const LOCAL_LATCH_MS = 15 * MINUTE_MS;
