import type { Finding } from '../../vocabulary.ts';
import { findingOfProblem, Problem } from '../problem.ts';
import { type Call, isTrial, type LeasedRequest } from './call.ts';
import type { Obtained } from './obtain-token.ts';
import type { PairRecord, StoredToken, Wait } from './record.ts';
import { isProven, KEPT_WAIT_MS, MAX_HOLD_MS, MAX_PAUSE_MS } from './record.ts';

/** The outcome of one token request. Contains all its times, so settling it is idempotent. */
export type Outcome = Partial<Pick<PairRecord, 'checked'>> & { readonly at: number } & (
    | { readonly kind: 'rejected' }
    | { readonly kind: 'accepted'; readonly token: StoredToken }
    /** `holds`: the wait is for the version, not for the pair. */
    | { readonly kind: 'failed'; readonly wait: Wait; readonly holds: boolean; readonly cause?: unknown }
  );

/** Returns what a request changes in the record. Only a trial has a finding in it. */
export function outcomeOf(call: Call, request: LeasedRequest, obtained: Obtained, at: number): Outcome {
  const { holdKey, record } = request;
  const { versionId: version } = request.version;
  const checked = isTrial(call) ? { version, at, finding: findingOf(obtained) } : undefined;
  if (obtained.outcome === 'rejected') return { kind: 'rejected', at, checked };
  if (obtained.outcome === 'token') return { kind: 'accepted', token: obtained.token, at, checked };
  const isSafe = isProven(record, version);
  const failure = isSafe ? obtained : doubted(obtained);
  // A failure that says nothing about the credential pauses the pair. A refused request holds its version. An
  // unheard request holds its version too, because the service may have rejected it too late, unless the version is
  // proven. A trial holds only its own version, because it must not disturb callers.
  const holds = failure.outcome === 'held' || isTrial(call) || (failure.isUnheard === true && !isSafe);
  const wait = nextWait(failure, holds ? record.held.get(holdKey) : record.pause, isSafe, at);
  return { kind: 'failed', wait, holds, cause: failure.problem.cause, at, checked };
}

type Failure = Extract<Obtained, { readonly problem: unknown }>;

/** Holds a version that was never accepted after an answer that some services give to a wrong secret. */
function doubted(failure: Failure): Failure {
  const { type, shape } = failure.problem;
  const { status = 0 } = shape ?? {};
  if (status === 500) return { outcome: 'held', problem: new Problem(type, NOT_ACCEPTED, { shape }) };
  const isPlainThrottle = status === 408 || status === 429;
  return status >= 300 && status <= 499 && !isPlainThrottle ? { ...failure, outcome: 'held' } : failure;
}

/** The detail of the problem after a 500. */
export const NOT_ACCEPTED =
  'Not accepted yet: the service answered 500, as some services answer a wrong secret. client retry ends the wait.';

/** Doubles each wait, without jitter, up to its limit. A service that asks for a longer wait gets it. */
function nextWait({ outcome, problem, isUnheard }: Failure, last: Wait | undefined, isSafe: boolean, at: number): Wait {
  const isSafelyUnheard = isUnheard === true && isSafe;
  // Unheard waits of a proven version are counted apart from the waits that the service asked for.
  const isCounted = last !== undefined && at - last.until <= KEPT_WAIT_MS && (!isSafelyUnheard || last.unheard);
  const before = isCounted ? last.step : 0;
  const { type, detail, shape, retryAfterSeconds } = problem;
  const isHeard = outcome === 'failed' && !isUnheard;
  const maxUnheardMs = before < MANY_UNHEARD ? MAX_UNHEARD_PAUSE_MS : MAX_PAUSE_MS;
  const maxHeardMs = shape?.status === 429 ? MAX_PAUSE_MS : MAX_OWN_PAUSE_MS;
  const maxMs = isHeard ? maxHeardMs : isSafelyUnheard ? maxUnheardMs : MAX_HOLD_MS;
  const ownMs = Math.min(maxMs, FIRST_WAIT_MS * 2 ** before);
  const askedMs =
    !isUnheard && retryAfterSeconds !== undefined ? Math.min(MAX_PAUSE_MS, retryAfterSeconds * 1_000) : undefined;
  const until = at + (isHeard ? (askedMs ?? ownMs) : Math.max(ownMs, askedMs ?? 0));
  return { until, step: before + 1, problem: { type, detail, shape }, ...(isUnheard && { unheard: true }) };
}

function findingOf(obtained: Obtained): Finding {
  if (obtained.outcome === 'token') return 'accepted';
  return obtained.outcome === 'rejected' ? 'rejected' : findingOfProblem(obtained.problem);
}

const FIRST_WAIT_MS = 1_000;
const MAX_OWN_PAUSE_MS = 15_000;
/** The longest pause of a silent service, for this many requests in a row. Later pauses are `MAX_PAUSE_MS` long. */
const MAX_UNHEARD_PAUSE_MS = 60_000;
const MANY_UNHEARD = 30;
