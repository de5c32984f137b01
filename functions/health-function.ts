import { setTimeout } from 'node:timers/promises';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { SNSClient } from '@aws-sdk/client-sns';
import { STSClient } from '@aws-sdk/client-sts';
import { createTokenBroker, type TokenBrokerOptions } from '../client/token-broker.ts';
import type { InvocationContext } from './aws/function-url.ts';
import { writeLine } from './aws/log/write-line.ts';
import { createPairChecker, createProbe, createProbeCredentials, type FunctionOptions } from './health/ask-broker.ts';
import { createClientList, createSecretDescriber, parseSecretEvent } from './health/client-secrets.ts';
import { createHealthLog } from './health/health-log.ts';
import { createNotificationTable, createNotifier, hasSubscribers } from './health/notifications.ts';
import { createClientCheck } from './health/rules/check-client.ts';
import { createNotify, type SendMessage } from './health/rules/notify.ts';
import { createHealthRun, type HealthRun } from './health/rules/run.ts';
import type { HealthVariables } from './variables.ts';

interface HealthOptions extends FunctionOptions {
  /** Takes the messages in place of the topic. */
  readonly sendMessage?: SendMessage;
  /** Returns a number from 0 up to 1. */
  readonly random?: () => number;
  /** The credentials of the role that must be refused. Default: STS issues them. */
  readonly probeCredentials?: TokenBrokerOptions['credentials'];
}

/**
 * Wires the adapters to the rules. An event of Secrets Manager starts a check of the client that it names, and Lambda
 * repeats the event if the check fails. Any other event starts a run over all pairs and returns its findings.
 */
export function createHealthFunction(variables: HealthVariables, options: HealthOptions = {}) {
  const { TOKEN_BROKER_ENVIRONMENT: environment, TOKEN_BROKER_URL: url, TOKEN_BROKER_TABLE: tableName } = variables;
  const { credentials, write = writeLine, now = Date.now, sleep = setTimeout, random = Math.random } = options;
  const intervalMs = Number(variables.TOKEN_BROKER_HEALTH_INTERVAL_SECONDS) * 1_000;
  if (!(intervalMs > 0)) throw new TypeError('the interval of health must be a number of seconds');
  const log = createHealthLog({ environment, now, write });
  const secretsManager = new SecretsManagerClient(patient(10_000));
  const memories = createNotificationTable({ dynamodb: new DynamoDBClient(patient(1_000)), tableName, now });
  const subscribers = Number(variables.TOKEN_BROKER_SUBSCRIBERS);
  const topic = { sns: new SNSClient(patient(2_000)), topicArn: variables.TOKEN_BROKER_TOPIC };
  const {
    sendMessage = createNotifier(topic),
    probeCredentials = createProbeCredentials(new STSClient(patient(2_000)), variables.TOKEN_BROKER_PROBE_ROLE),
  } = options;
  const common = {
    services: variables.TOKEN_BROKER_SERVICES.split(' '),
    checkPair: createPairChecker(createTokenBroker({ ...ONCE, url, credentials })),
    notify: createNotify({ environment, memories, sendMessage, now, sleep, random }),
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
    hasSubscribers: async () => options.sendMessage !== undefined || hasSubscribers(subscribers, topic),
    random,
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

/** The rules of health decide which requests are repeated, so the client neither caches nor repeats. */
const ONCE = { cache: false, maxAttempts: 1 };

/** Options of AWS clients: a run can wait longer than a caller. */
function patient(requestTimeout: number) {
  return { maxAttempts: 5, requestHandler: { requestTimeout, throwOnRequestTimeout: true } };
}

/** Time for the description of the secret, the last message and the last writes, at worst. */
const WRITING_MS = 25_000;
