import { Problem } from '../problem.ts';
import { MAX_PAUSE_MS, type Rejection, type Wait } from './record.ts';

/** A rejected version gets two more chances; then only an operator, or a new version, opens the way again. */
export function isLatched(rejection: Rejection | undefined, now: number): boolean {
  if (rejection === undefined) return false;
  const delayMs = CHANCE_DELAYS_MS[rejection.count - 1];
  return delayMs === undefined || now < rejection.at + delayMs;
}

/** The wait after one more failure: 1 s, doubling to at most `maxMs`, without jitter. */
export function longerWait(problem: Problem, before: Wait | undefined, now: number, maxMs: number): Wait {
  const { type, detail, shape } = problem;
  const step = (before?.step ?? 0) + 1;
  return { until: now + Math.min(maxMs, FIRST_WAIT_MS * 2 ** (step - 1)), step, problem: { type, detail, shape } };
}

/** The wait after an answer that says nothing about the credential: as long as the service asks for, else 1 s doubling to 15 s. */
export function pauseAfter(problem: Problem, before: Wait | undefined, now: number): Wait {
  const pause = longerWait(problem, before, now, MAX_OWN_PAUSE_MS);
  const { retryAfterSeconds } = problem;
  if (retryAfterSeconds === undefined) return pause;
  return { ...pause, until: now + Math.min(MAX_PAUSE_MS, retryAfterSeconds * 1_000) };
}

/** The problem that a caller sees while a pause or a hold lasts. */
export function waitProblem({ problem, until }: Wait, now: number, cause?: unknown): Problem {
  const { type, detail, shape } = problem;
  return new Problem(type, detail, { shape, retryAfterSeconds: Math.max(1, Math.ceil((until - now) / 1_000)), cause });
}

const MINUTE_MS = 60_000;

/** After the first and after the second rejected request. With the first one this makes three: the lock-out budget. */
const CHANCE_DELAYS_MS = [15 * MINUTE_MS, 120 * MINUTE_MS];

const FIRST_WAIT_MS = 1_000;
const MAX_OWN_PAUSE_MS = 15_000;
