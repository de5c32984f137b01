import { AssumeRoleCommand, type STSClient } from '@aws-sdk/client-sts';
import { isProblem, TokenBrokerError } from '../../client/error.ts';
import type { TokenBroker, TokenBrokerOptions } from '../../client/token-broker.ts';
import { withTimeLimit } from '../aws/calls.ts';
import type { CheckPair } from './rules/check-pairs.ts';
import type { ProbeAnswer } from './rules/evaluate.ts';
import type { AskAsProbe } from './rules/run.ts';

/** The options of both functions that ask the broker. */
export interface FunctionOptions {
  /** Credentials that sign the requests. Default: the credentials of the function. */
  readonly credentials?: TokenBrokerOptions['credentials'];
  readonly write?: (line: string) => void;
  /** Epoch milliseconds. */
  readonly now?: () => number;
  readonly sleep?: (ms: number) => Promise<unknown>;
}

/** Checks pairs through the broker's URL. Returns `failed` if the broker itself fails. */
export function createPairChecker(broker: Pick<TokenBroker, 'check'>): CheckPair {
  return async (pair, timeoutMs) => {
    try {
      const answer = await broker.check({ ...pair, signal: signalAfter(timeoutMs) });
      const { finding, detail, cause, provenBy, version, checkedAt, credentialExpiresAt } = answer;
      return { kind: 'checked', finding, detail, cause, provenBy, version, checkedAt, credentialExpiresAt };
    } catch (error) {
      const { retryable = false, problem } = error instanceof TokenBrokerError ? error : {};
      const failure = { kind: 'failed', failure: failureType(error), retryable } as const;
      const [detail] = (isProblem(error, 'table-unavailable') && LACKING.exec(`${problem?.detail}`)) || [];
      return detail === undefined ? failure : { ...failure, detail };
    }
  };
}

/** The rights and the key without which the broker has no table. No other text of an answer is repeated. */
const LACKING = /dynamodb:(?:GetItem|UpdateItem)|sealing key/;

/** Asks for a token as the role that must be refused, and drops a token that it receives. */
export function createProbe(broker: Pick<TokenBroker, 'token'>): AskAsProbe {
  return async (pair, timeoutMs) => {
    try {
      await broker.token({ ...pair, signal: signalAfter(timeoutMs) });
      return { condition: 'not-denied', said: 'a-token' };
    } catch (error) {
      return { condition: conditionOf(error), said: failureType(error) };
    }
  };
}

/** Any problem but a refusal or `internal` arises behind the access rules, so it proves that they let the probe in. */
function conditionOf(error: unknown): ProbeAnswer['condition'] {
  if (!(error instanceof TokenBrokerError) || error.problem === undefined) return 'unproven';
  if (error.type === 'access-denied' && error.status === 403) return 'denied';
  return error.type === 'internal' ? 'unproven' : 'not-denied';
}

/** Returns a word that contains no text of an answer. */
function failureType(error: unknown): string {
  if (!(error instanceof TokenBrokerError)) return 'unexpected-error';
  if (error.type === 'signal-timeout') return 'timeout';
  return /^[a-z-]{1,64}$/.test(error.type) ? error.type : 'unknown-problem';
}

/** Assumes the role that the broker must refuse, on every call, for the shortest time that AWS allows. */
export function createProbeCredentials(sts: STSClient, RoleArn: string, timeoutMs = 5_000) {
  return async () => {
    const command = new AssumeRoleCommand({ RoleArn, RoleSessionName: 'token-broker-health', DurationSeconds: 900 });
    const { Credentials } = await withTimeLimit(timeoutMs, (abortSignal) => sts.send(command, { abortSignal }));
    const { AccessKeyId: accessKeyId, SecretAccessKey: secretAccessKey, SessionToken } = Credentials ?? {};
    if (!accessKeyId || !secretAccessKey) throw new TypeError('STS returned no credentials');
    return { accessKeyId, secretAccessKey, sessionToken: SessionToken };
  };
}

/** Aborts after `timeoutMs`, or immediately if no time is left. */
export function signalAfter(timeoutMs: number): AbortSignal {
  return AbortSignal.timeout(Math.max(1, Math.floor(timeoutMs)));
}
