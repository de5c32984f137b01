import { Problem } from '../problem.ts';
import {
  isProven,
  KEPT_WAIT_MS,
  MAX_HOLD_MS,
  MAX_PAUSE_MS,
  type PairRecord,
  type Rejection,
  type Wait,
} from './record.ts';
import type { Renewal } from './renew-token.ts';

/** A rejected version gets two more chances; then only an operator, or a new version, opens the way again. */
export function isLatched(rejection: Rejection | undefined, now: number): boolean {
  if (rejection === undefined) return false;
  const delayMs = CHANCE_DELAYS_MS[rejection.count - 1];
  return delayMs === undefined || now < rejection.at + delayMs;
}

/**
 * The wait after a token request in vain, and whose it is. A failure that says nothing of the credential pauses the pair. A
 * refused request holds its version; so does one that was sent and not heard, because it may have been rejected too late,
 * unless the version is proven. A trial only ever holds its own version: it must not disturb callers.
 */
export function waitAfter(
  { outcome, problem, isUnheard }: Extract<Renewal, { problem: Problem }>,
  record: PairRecord,
  { version, key, isTrial }: { readonly version: string; readonly key: string; readonly isTrial: boolean },
  now: number,
): { readonly wait: Wait; readonly holds: boolean } {
  const isSafe = isProven(record, version);
  const holds = outcome === 'held' || isTrial || (isUnheard === true && !isSafe);
  const last = holds ? record.held.get(key) : record.pause;
  const before = last !== undefined && now - last.until <= KEPT_WAIT_MS ? last.step : 0;
  const { type, detail, shape, retryAfterSeconds } = problem;
  const isHeard = outcome === 'failed' && !isUnheard;
  const maxMs = isHeard ? MAX_OWN_PAUSE_MS : isUnheard && isSafe ? MAX_UNHEARD_PAUSE_MS : MAX_HOLD_MS;
  const askedMs =
    isHeard && retryAfterSeconds !== undefined ? Math.min(MAX_PAUSE_MS, retryAfterSeconds * 1_000) : undefined;
  const until = now + (askedMs ?? Math.min(maxMs, FIRST_WAIT_MS * 2 ** before));
  const unheard = isUnheard && !holds ? { unheard: true as const } : {};
  return { holds, wait: { until, step: before + 1, problem: { type, detail, shape }, ...unheard } };
}

/** The problem that a caller sees while a pause or a hold lasts. */
export function waitProblem({ problem, until }: Wait, now: number, cause?: unknown): Problem {
  const { type, detail, shape } = problem;
  return new Problem(type, detail, { shape, retryAfterSeconds: Math.max(1, Math.ceil((until - now) / 1_000)), cause });
}

const MINUTE_MS = 60_000;

/** After the first and after the second rejected request. With the first one this makes three: the lock-out budget. */
const CHANCE_DELAYS_MS = [15 * MINUTE_MS, 120 * MINUTE_MS];

/** Each wait is twice as long as the one before, without jitter, up to one of the limits. */
const FIRST_WAIT_MS = 1_000;
const MAX_OWN_PAUSE_MS = 15_000;
/** A proven version may be asked once a minute while the service says nothing. */
const MAX_UNHEARD_PAUSE_MS = 60_000;
