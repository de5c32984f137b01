import { setTimeout } from 'node:timers/promises';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { SNSClient } from '@aws-sdk/client-sns';
import { STSClient } from '@aws-sdk/client-sts';
import { TokenBrokerError } from '../client/error.ts';
import { createTokenBroker, type TokenBroker, type TokenBrokerOptions } from '../client/token-broker.ts';
import type { InvocationContext } from './aws/function-url.ts';
import { writeLine } from './aws/log/write-line.ts';
import { createClientList, createSecretDescriber, parseSecretEvent } from './health/client-secrets.ts';
import { createHealthLog } from './health/health-log.ts';
import { createNotificationTable, createNotifier, hasSubscriber } from './health/notifications.ts';
import { createProbeCredentials } from './health/probe-credentials.ts';
import { createClientCheck } from './health/rules/check-client.ts';
import type { CheckPair } from './health/rules/check-pairs.ts';
import type { ProbeAnswer } from './health/rules/evaluate.ts';
import { createNotify } from './health/rules/notify.ts';
import { type AskAsProbe, createHealthRun, type HealthRun } from './health/rules/run.ts';
import type { HealthVariables } from './variables.ts';

/** The options of both functions that ask the broker. */
export interface FunctionOptions {
  /** Credentials that sign the requests; those of the function by default. */
  readonly credentials?: TokenBrokerOptions['credentials'];
  readonly write?: (line: string) => void;
  /** Epoch milliseconds. */
  readonly now?: () => number;
  /** How the time between two requests passes. */
  readonly sleep?: (ms: number) => Promise<unknown>;
}

/**
 * Wires the adapters to the rules. An event of Secrets Manager starts a check of the client that it names, and Lambda
 * repeats a failed one; any other event starts one run over all pairs, whose findings are returned.
 */
export function createHealthFunction(variables: HealthVariables, options: FunctionOptions = {}) {
  const { TOKEN_BROKER_ENVIRONMENT: environment, TOKEN_BROKER_URL: url, TOKEN_BROKER_TABLE: tableName } = variables;
  const { credentials, write = writeLine, now = Date.now, sleep = setTimeout } = options;
  const intervalMs = Number(variables.TOKEN_BROKER_HEALTH_INTERVAL_SECONDS) * 1_000;
  if (!(intervalMs > 0)) throw new TypeError('the interval of health must be a number of seconds');
  const log = createHealthLog({ environment, now, write });
  const secretsManager = new SecretsManagerClient(patient(10_000));
  const memories = createNotificationTable({ dynamodb: new DynamoDBClient(patient(1_000)), tableName, now });
  const topic = { sns: new SNSClient(patient(2_000)), topicArn: variables.TOKEN_BROKER_TOPIC };
  const probeCredentials = createProbeCredentials(new STSClient(patient(2_000)), variables.TOKEN_BROKER_PROBE_ROLE);
  const common = {
    services: variables.TOKEN_BROKER_SERVICES.split(' '),
    checkPair: createPairChecker(createTokenBroker({ ...ONCE, url, credentials })),
    notify: createNotify({ environment, memories, sendMessage: createNotifier(topic), now }),
    record: log.check,
    now,
    sleep,
  };
  const run = createHealthRun({
    ...common,
    intervalMs,
    listClients: createClientList({ environment, secretsManager }),
    askAsProbe: createProbe(createTokenBroker({ ...ONCE, url, credentials: probeCredentials })),
    memories,
    hasSubscriber: () => hasSubscriber(topic),
    random: Math.random,
  });
  const checkClient = createClientCheck({
    ...common,
    singleTokenServices: variables.TOKEN_BROKER_SINGLE_TOKEN_SERVICES.split(' '),
    describeSecret: createSecretDescriber({ environment, secretsManager }),
  });

  return async (event: unknown, context: InvocationContext): Promise<HealthRun | undefined> => {
    const deadline = now() + context.getRemainingTimeInMillis();
    const secretEvent = parseSecretEvent(event, environment);
    if (secretEvent === undefined) {
      const result = await run(deadline);
      log.run(result);
      return result;
    }
    if (secretEvent.kind === 'promotion') await checkClient(secretEvent, deadline - WRITING_MS);
    else log.ignored(secretEvent.kind);
    return undefined;
  };
}

/** A run sees the answer to each request, and decides by its own rules which it repeats. */
const ONCE = { cache: false, maxAttempts: 1 };

/** A run can wait longer than a caller. */
function patient(requestTimeout: number) {
  return { maxAttempts: 5, requestHandler: { requestTimeout, throwOnRequestTimeout: true } };
}

/** The worst case of the description of the secret, the last message and the last writes. */
const WRITING_MS = 25_000;

/** Checks pairs through the broker's URL. A failure of the broker itself is `failed`. */
export function createPairChecker(broker: Pick<TokenBroker, 'check'>): CheckPair {
  return async (pair, timeoutMs) => {
    try {
      const { finding, provenBy, version, checkedAt } = await broker.check({ ...pair, signal: signalAfter(timeoutMs) });
      return { kind: 'checked', finding, provenBy, version, checkedAt };
    } catch (error) {
      const retryable = error instanceof TokenBrokerError && (error.retryable || error.type === 'aborted');
      return { kind: 'failed', failure: failureType(error), retryable };
    }
  };
}

/** Asks for a token as the role that must be refused. A token goes no further. */
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

/** A problem other than a refusal or `internal` arises behind the access rules, so it proves that they let the probe in. */
function conditionOf(error: unknown): ProbeAnswer['condition'] {
  if (!(error instanceof TokenBrokerError) || error.problem === undefined) return 'unproven';
  if (error.type === 'access-denied' && error.status === 403) return 'denied';
  return error.type === 'internal' ? 'unproven' : 'not-denied';
}

/** One word, without any text of an answer. */
function failureType(error: unknown): string {
  if (!(error instanceof TokenBrokerError)) return 'unexpected-error';
  // The signal is only ever that of the time limit.
  if (error.type === 'aborted') return 'timeout';
  return /^[a-z-]{1,64}$/.test(error.type) ? error.type : 'unknown-problem';
}

/** Ends after so many milliseconds, and at once when there are none left. */
export function signalAfter(timeoutMs: number): AbortSignal {
  return AbortSignal.timeout(Math.max(1, Math.floor(timeoutMs)));
}
