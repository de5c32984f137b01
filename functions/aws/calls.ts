import { setTimeout as sleep } from 'node:timers/promises';
import { isPlainWord } from '../broker/plain-word.ts';
import { POLICY_KIND } from '../vocabulary.ts';

/**
 * Runs `call` for at most this long, then throws `OutOfTime`. Without any time, the call is not made. At the end the
 * signal aborts the rest of the call, even after an answer.
 */
export async function withTimeLimit<Result>(timeoutMs: number, call: SignalledCall<Result>) {
  if (timeoutMs <= 0) throw new OutOfTime();
  const abort = new AbortController();
  const end = Promise.withResolvers<never>();
  // The timer of a process that was frozen fires before the answer that arrived meanwhile is read. Another turn of the
  // event loop reads the answer first.
  const timer = setTimeout(() => setImmediate(() => end.reject(new OutOfTime())), timeoutMs);
  try {
    // The race is necessary: an SDK obeys the signal while it sends and waits, but not while it looks for credentials.
    return await Promise.race([call(abort.signal), end.promise]);
  } finally {
    clearTimeout(timer);
    abort.abort(OVER);
  }
}

export type SignalledCall<Result> = (abortSignal: AbortSignal) => Promise<Result>;

/** The limit of a call is over. */
export class OutOfTime extends Error {
  override readonly name = 'OutOfTime';
}

/** Created once, because every call aborts a signal, and an abort without a reason creates an error with a stack. */
const OVER = new OutOfTime();

/** Makes an idempotent call, and repeats it once after a transient failure. Nothing begins after the signal. */
export async function withRetry<Answer>(abortSignal: AbortSignal, call: () => Promise<Answer>): Promise<Answer> {
  try {
    return await call();
  } catch (error) {
    if (isDefinitive(error)) throw error;
  }
  await sleep(Math.random() * MAX_BACKOFF_MS, undefined, { signal: abortSignal });
  return call();
}

const MAX_BACKOFF_MS = 50;

/**
 * Returns only an error's code or name: messages and hidden members of an SDK's errors quote the answer. Answers can
 * set names, too. A name that does not look like an error's becomes `unknown`: it may be a client id or a passphrase.
 */
export function causeWord(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown';
  const word = 'code' in error && typeof error.code === 'string' ? error.code : error.name;
  return /^[A-Z]\w*$/.test(word) && isPlainWord(word, 64) ? word : 'unknown';
}

/** A refusal by AWS. Contains its name and status, and nothing else of the answer. */
export class AwsRefusal extends Error {
  override readonly name: string;
  readonly status: number;

  constructor(name: string, status: number) {
    super(`AWS answered with the status ${status}`);
    this.name = name;
    this.status = status;
  }
}

/** Returns whether AWS refused a call for a lasting reason. Every other failure is transient. */
export function isDefinitive(error: unknown): error is AwsRefusal {
  if (!(error instanceof AwsRefusal) || error.status < 400 || error.status > 499) return false;
  return DEFINITIVE.has(error.name) || POLICY_KIND.test(error.name);
}

/** The secret is marked for deletion. AWS's name for it is the same as for other states of a secret. */
export const MARKED_FOR_DELETION = 'MarkedForDeletion';

/** `AccessDeniedException` and `ValidationException` are common errors of AWS, which no operation lists. */
const DEFINITIVE: ReadonlySet<string> = new Set([
  'ResourceNotFoundException',
  'InvalidRequestException',
  'InvalidParameterException',
  'ValidationException',
  'AccessDeniedException',
  'NotAuthorized',
  MARKED_FOR_DELETION,
]);

/** Returns whether a conditional write of DynamoDB found another item than it named. */
export function isConditionFailed(error: unknown): boolean {
  const isOfAnswer = !(error instanceof AwsRefusal) || error.status === 400;
  return isOfAnswer && error instanceof Error && error.name === 'ConditionalCheckFailedException';
}

/** Returns whether AWS refused a call because of too many calls. AWS has not begun such a call. */
export function isThrottled(error: unknown): boolean {
  return THROTTLED.has(causeWord(error));
}

/** DynamoDB's names for too many requests to a key, a table or an account. */
const THROTTLED: ReadonlySet<string> = new Set([
  'ProvisionedThroughputExceededException',
  'ThrottlingException',
  'RequestLimitExceeded',
]);
