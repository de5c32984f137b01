import { setTimeout } from 'node:timers/promises';
import { createTokenBroker, type TokenBrokerOptions } from '../client/token-broker.ts';
import { createClientList } from './aws/client-list.ts';
import { createDynamoDBClient, createSecretsManagerClient } from './aws/clients.ts';
import type { InvocationContext } from './aws/function-url.ts';
import { createHealthLog } from './aws/log/health-log.ts';
import { createMemoryTable } from './aws/notification-table.ts';
import { createNotifier, createSnsClient } from './aws/notifier.ts';
import { createProbeCredentials, createStsClient } from './aws/probe-credentials.ts';
import { createReporter } from './broker/health/notify.ts';
import { createHealthRun, type HealthRun } from './broker/health/run.ts';
import type { ServiceName } from './broker/pair/pair.ts';
import { createPairChecker, createProbe } from './health-checks.ts';

export type HealthHandler = (event: unknown, context: InvocationContext) => Promise<HealthRun>;

interface Options {
  /** Whose secrets: `token-broker/<environment>/<client>`. */
  readonly environment: string;
  /** The broker's Function URL. */
  readonly url: string;
  readonly tableName: string;
  /** The configured ones. */
  readonly services: readonly ServiceName[];
  readonly topicArn: string;
  readonly probeRoleArn: string;
  /** From one run to the next. */
  readonly intervalSeconds: number;
  /** What the checks are signed with; the function's own when left out. */
  readonly credentials?: TokenBrokerOptions['credentials'];
  readonly write?: (line: string) => void;
  /** How the time between two checks passes. */
  readonly sleep?: (ms: number) => Promise<unknown>;
}

/** Wires the adapters to the rules: each call of the handler is one run over all pairs, whatever the event says. */
export function createHealthFunction(options: Options): HealthHandler {
  const { environment, url, tableName, services, topicArn, probeRoleArn, intervalSeconds } = options;
  const { credentials, write = writeLine, sleep = setTimeout } = options;
  if (!(intervalSeconds > 0)) throw new TypeError('the interval of health must be a number of seconds');
  const now = Date.now;
  const log = createHealthLog({ environment, now, write });

  const run = createHealthRun({
    services,
    intervalMs: intervalSeconds * 1_000,
    listClients: createClientList({ environment, secretsManager: createSecretsManagerClient(patient(10_000)) }),
    checkPair: createPairChecker(createTokenBroker({ ...ONCE, url, credentials })),
    askAsProbe: createProbe(
      createTokenBroker({
        ...ONCE,
        url,
        credentials: createProbeCredentials({ sts: createStsClient(), roleArn: probeRoleArn }),
      }),
    ),
    report: createReporter({
      environment,
      memories: createMemoryTable({ dynamodb: createDynamoDBClient(patient(1_000)), tableName, now }),
      notify: createNotifier({ sns: createSnsClient(), topicArn }),
      now,
      sleep,
    }),
    record: log.check,
    now,
    sleep,
    random: Math.random,
  });

  return async (_event, context) => {
    const result = await run(now() + context.getRemainingTimeInMillis());
    log.run(result);
    return result;
  };
}

/** A run sees what a request sees, and repeats its checks by its own rules. */
const ONCE = { cache: false, maxAttempts: 1 };

/** A run can wait for what a caller cannot. */
function patient(requestTimeout: number) {
  return { maxAttempts: 5, requestHandler: { requestTimeout, throwOnRequestTimeout: true } };
}

function writeLine(line: string): void {
  process.stdout.write(line);
}
