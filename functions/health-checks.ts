import { type FailureType, TokenBrokerError } from '../client/error.ts';
import type { TokenBroker } from '../client/token-broker.ts';
import type { CheckPair } from './broker/health/check-pairs.ts';
import type { AskAsProbe } from './broker/health/probe.ts';

/** Checks pairs through the broker's URL. What the broker itself could not do comes out as `failed`. */
export function createPairChecker(broker: Pick<TokenBroker, 'check'>): CheckPair {
  return async (pair, timeoutMs) => {
    try {
      const { finding, provenBy, version, checkedAt } = await broker.check({ ...pair, signal: signalAfter(timeoutMs) });
      return { kind: 'checked', finding, provenBy, version, checkedAt };
    } catch (error) {
      const failure = failureWord(error);
      return { kind: 'failed', failure, retryable: failure === TIMEOUT || isRetryable(error) };
    }
  };
}

/** Asks for a token as the role that must be refused. Whatever token there is goes no further. */
export function createProbe(broker: Pick<TokenBroker, 'token'>): AskAsProbe {
  return async (pair, timeoutMs) => {
    try {
      await broker.token({ ...pair, signal: signalAfter(timeoutMs) });
      return { condition: 'not-denied', said: 'a-token' };
    } catch (error) {
      return { condition: conditionOf(error), said: failureWord(error) };
    }
  };
}

/** Every problem but a refusal, and but a broker that cannot say why it failed, comes after the access rules. */
function conditionOf(error: unknown): 'denied' | 'not-denied' | 'unproven' {
  if (!(error instanceof TokenBrokerError) || error.problem === undefined) return 'unproven';
  if (error.type === 'access-denied' && error.status === 403) return 'denied';
  return error.type === 'internal' ? 'unproven' : 'not-denied';
}

function isRetryable(error: unknown): boolean {
  return error instanceof TokenBrokerError && error.retryable;
}

/** One word, whoever chose it. */
function failureWord(error: unknown): string {
  if (!(error instanceof TokenBrokerError)) return 'unexpected-error';
  // The signal is only ever that of the time limit.
  if (error.type === 'aborted') return TIMEOUT;
  return /^[a-z-]{1,64}$/.test(error.type) ? error.type : 'unknown-problem';
}

const TIMEOUT = 'timeout' satisfies FailureType;

function signalAfter(timeoutMs: number): AbortSignal {
  return AbortSignal.timeout(Math.max(1, Math.floor(timeoutMs)));
}
