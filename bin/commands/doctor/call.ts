import { type FailureType, type TokenBroker, TokenBrokerError } from '../../../client/index.ts';
import type { Pair } from '../../../functions/broker/pair/pair.ts';
import type { ProblemType } from '../../../functions/contract.ts';
import { type Cause, failed, ok, type Step } from './causes.ts';

/** Makes the call itself; without a pair one that only shows whether the broker can be called. */
export async function call(broker: TokenBroker, pair: Pair | undefined, signal: AbortSignal): Promise<Step> {
  const step = 'call';
  try {
    const token = await broker.token({ client: '', service: '', ...pair, signal });
    return ok(step, `A token was issued, ${token.fingerprint}, until ${new Date(token.expiresAt).toISOString()}`);
  } catch (failure) {
    if (!(failure instanceof TokenBrokerError) || failure.type === 'aborted') throw failure;
    if (pair === undefined && failure.type === 'invalid-request') {
      return ok(step, 'The broker takes your signature and answers; --client and --service would ask for a token');
    }
    const shape = failure.problem?.response_shape;
    return { ...failed(step, causeOf(failure), failure.message), ...(shape !== undefined && { shape }) };
  }
}

function causeOf({ type, retryAfterSeconds, problem }: TokenBrokerError): Cause {
  // Whoever may not read the secret is not told to come back later.
  if (type === 'secrets-unavailable' && retryAfterSeconds === undefined) return 'secret-denied';
  if (type === 'token-endpoint-error' && isMissing(problem?.response_shape)) return 'token-path-wrong';
  return isKnown(type) ? CAUSE_OF[type] : 'unexplained';
}

/** The service answers 404 or 405: there is something else, or nothing, at the path. */
function isMissing(shape: unknown): boolean {
  const status = typeof shape === 'object' && shape !== null && 'status' in shape ? shape.status : undefined;
  return status === 404 || status === 405;
}

function isKnown(type: string): type is keyof typeof CAUSE_OF {
  return Object.hasOwn(CAUSE_OF, type);
}

const CAUSE_OF = {
  'invalid-request': 'unexplained',
  'access-denied': 'access-denied',
  'not-found': 'unexplained',
  'method-not-allowed': 'unexplained',
  'content-too-large': 'unexplained',
  'unsupported-media-type': 'unexplained',
  'credential-missing': 'secret-missing',
  'credential-malformed': 'secret-malformed',
  'credential-rejected': 'credential-rejected',
  'client-disabled': 'client-disabled',
  'token-response-unusable': 'token-response-unusable',
  'token-endpoint-error': 'token-endpoint-error',
  'token-endpoint-unavailable': 'token-endpoint-unavailable',
  'refused-again': 'unexplained',
  'token-endpoint-timeout': 'token-endpoint-timeout',
  'secrets-unavailable': 'secrets-unavailable',
  internal: 'broker-failed',
  'aws-forbidden': 'aws-forbidden',
  'aws-signature-mismatch': 'aws-signature-mismatch',
  'aws-signature-expired': 'clock-behind',
  'aws-signature-not-yet-current': 'clock-ahead',
  'aws-security-token-invalid': 'aws-credentials-invalid',
  'aws-security-token-expired': 'aws-credentials-expired',
  'aws-wrong-scope': 'region-wrong',
  'aws-refused': 'unexplained',
  'aws-throttled': 'aws-throttled',
  'aws-function-failed': 'aws-function-failed',
  'aws-function-timeout': 'aws-function-failed',
  'aws-credentials-unavailable': 'aws-credentials-malformed',
  'unexpected-answer': 'not-a-broker',
  'network-error': 'connection-failed',
  timeout: 'no-answer',
  aborted: 'unexplained',
} as const satisfies Record<ProblemType | FailureType, Cause>;
