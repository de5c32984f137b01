import { setTimeout } from 'node:timers/promises';
import { isRefusedAgain, TokenBrokerError } from './error.ts';
import { readFailure } from './read-failure.ts';
import { type Answer, type Sending, send } from './send.ts';
import type { SigningClock } from './signing-clock.ts';

/** The way to the broker. */
export interface Connection extends Sending {
  readonly clock: SigningClock;
  /** This machine's time: epoch milliseconds. */
  readonly now: () => number;
  /** How long one attempt may take, credentials and body included. */
  readonly timeoutMs: number;
  /** How often a request is sent at most. */
  readonly maxAttempts: number;
  /** How long a call may take that names no deadline. */
  readonly patienceMs: number;
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<unknown>;
  /** From 0 to below 1. */
  readonly random: () => number;
}

/** When whoever waits for an exchange gives up. */
export interface Patience {
  /** Aborts then at the latest. */
  readonly signal: AbortSignal;
  /** Epoch milliseconds; may become later while others join. */
  readonly deadline: () => number;
}

export interface Exchange {
  readonly answer: Answer;
  /** When the attempt that was answered began: epoch milliseconds. */
  readonly startedAt: number;
}

/**
 * Sends members to the broker until it answers with 200. Only what may succeed a moment later is repeated, signed anew,
 * and never when the deadline would come first: then whoever waits is better served by the reason at once.
 *
 * @throws TokenBrokerError the last failure
 */
export async function exchange(
  connection: Connection,
  path: string,
  members: object,
  patience: Patience,
): Promise<Exchange> {
  const { now, timeoutMs, maxAttempts } = connection;
  const { signal, deadline } = patience;
  const body = JSON.stringify(members);
  let hasCorrectedClock = false;

  for (let attempt = 1; ; attempt += 1) {
    const startedAt = now();
    const { answer, error } = await send(connection, path, body, { signal, timeoutMs }).then(judge, asOutcome);
    if (error === undefined) return { answer, startedAt };

    if (attempt >= maxAttempts) throw error;
    if (!hasCorrectedClock && CLOCK_FAILURES.has(error.type)) {
      hasCorrectedClock = connection.clock.correct(answer?.headers.get('date'));
      if (hasCorrectedClock) continue;
    }
    if (!isWorthRepeating(error)) throw error;
    const waitMs = pauseMs(error, attempt, connection.random());
    if (now() + waitMs >= deadline()) throw error;
    await connection.sleep(waitMs, signal);
  }
}

/** What came of an attempt. */
type Outcome =
  | { readonly answer: Answer; readonly error?: undefined }
  | { readonly answer?: Answer; readonly error: TokenBrokerError };

function judge(answer: Answer): Outcome {
  return answer.status === 200 ? { answer } : { answer, error: readFailure(answer) };
}

function asOutcome(error: unknown): Outcome {
  if (error instanceof TokenBrokerError) return { error };
  throw error;
}

const CLOCK_FAILURES: ReadonlySet<string> = new Set(['aws-signature-expired', 'aws-signature-not-yet-current']);

/** Whether to try once more a refusal that the broker does not believe is for the caller to decide. */
function isWorthRepeating(error: TokenBrokerError): boolean {
  return error.retryable && !isRefusedAgain(error);
}

/** Full jitter; beyond what the broker asks for, so that not everybody comes back at the same moment. */
function pauseMs({ retryAfterSeconds = 0 }: TokenBrokerError, attempt: number, random: number): number {
  return retryAfterSeconds * 1_000 + random * Math.min(MAX_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** (attempt - 1));
}

const FIRST_BACKOFF_MS = 200;
const MAX_BACKOFF_MS = 5_000;

/** Ends with the signal, and leaves no timer. */
export function sleepFor(ms: number, signal: AbortSignal): Promise<unknown> {
  return setTimeout(ms, undefined, { signal });
}
