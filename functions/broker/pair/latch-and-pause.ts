import { Problem } from '../problem.ts';
import { MAX_HOLD_MS, MAX_PAUSE_MS, type Rejection, type Wait } from './record.ts';

/** A rejected version gets two more chances; then only an operator, or a new version, opens the way again. */
export function isLatched(rejection: Rejection | undefined, now: number): boolean {
  if (rejection === undefined) return false;
  const delayMs = CHANCE_DELAYS_MS[rejection.count - 1];
  return delayMs === undefined || now < rejection.at + delayMs;
}

/** The pause after a token request without an answer about the credential: as long as the service asks for, else 1 s doubling to 15 s. */
export function pauseAfter(problem: Problem, before: Wait | undefined, now: number): Wait {
  const { retryAfterSeconds } = problem;
  const pause = doubled(problem, before, now, MAX_OWN_PAUSE_MS);
  if (retryAfterSeconds === undefined) return pause;
  return { ...pause, until: now + Math.min(MAX_PAUSE_MS, retryAfterSeconds * 1_000) };
}

/** The hold of a version that the service refuses in another way than by rejecting it: 1 s doubling to 1 h, without jitter. */
export function holdAfter(problem: Problem, before: Wait | undefined, now: number): Wait {
  return doubled(problem, before, now, MAX_HOLD_MS);
}

function doubled({ type, detail, shape }: Problem, before: Wait | undefined, now: number, maxMs: number): Wait {
  const step = (before?.step ?? 0) + 1;
  return { until: now + Math.min(maxMs, FIRST_WAIT_MS * 2 ** (step - 1)), step, problem: { type, detail, shape } };
}

/** The holds that ended so long ago that the next one may begin anew. */
export function expiredHolds(held: ReadonlyMap<string, Wait>, now: number): readonly string[] {
  return [...held].filter(([, { until }]) => now - until > KEPT_HOLD_MS).map(([key]) => key);
}

/** What a caller is told while a pause or a hold lasts. */
export function waitProblem({ problem, until }: Wait, now: number, cause?: unknown): Problem {
  const { type, detail, shape } = problem;
  return new Problem(type, detail, { shape, retryAfterSeconds: Math.max(1, Math.ceil((until - now) / 1_000)), cause });
}

const MINUTE_MS = 60_000;

/** After the first and after the second rejected request. With the first one this makes three: the lock-out budget. */
const CHANCE_DELAYS_MS = [15 * MINUTE_MS, 120 * MINUTE_MS];

const FIRST_WAIT_MS = 1_000;
const MAX_OWN_PAUSE_MS = 15_000;
const KEPT_HOLD_MS = 24 * 60 * MINUTE_MS;
