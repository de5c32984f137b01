import { PROBLEMS } from '../../contract.ts';
import { Problem } from '../problem.ts';
import { MAX_PAUSE_MS, type Pause } from './record.ts';

/** The pause after a token request that failed without a rejection: as long as the service asks for, else 1 s doubling to 15 s. */
export function pauseAfter(problem: Problem, before: Pause | undefined, now: number): Pause {
  const step = (before?.step ?? 0) + 1;
  const { type, detail, shape, retryAfterSeconds } = problem;
  const lengthMs =
    retryAfterSeconds === undefined
      ? Math.min(MAX_OWN_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(step - 1, 10))
      : Math.min(MAX_PAUSE_MS, retryAfterSeconds * 1_000);
  return { until: now + lengthMs, step, problem: { type, detail, shape } };
}

/** What everybody answers with while the pause lasts. */
export function pauseProblem({ problem, until }: Pause, now: number, cause?: unknown): Problem {
  const { type, detail, shape } = problem;
  const retryAfterSeconds = PROBLEMS[type].retryable ? Math.max(1, Math.ceil((until - now) / 1_000)) : undefined;
  return new Problem(type, detail, { shape, retryAfterSeconds, cause });
}

const FIRST_PAUSE_MS = 1_000;
const MAX_OWN_PAUSE_MS = 15_000;
