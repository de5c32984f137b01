import { setTimeout as sleep } from 'node:timers/promises';
import { createTokenBroker, type TokenBrokerOptions } from '../client/token-broker.ts';
import { createDynamoDBClient, createSecretsManagerClient } from './aws/clients.ts';
import type { InvocationContext } from './aws/function-url.ts';
import { createRotationLog } from './aws/log/rotation-log.ts';
import { createMemoryTable } from './aws/notification-table.ts';
import { createNotifier, createSnsClient } from './aws/notifier.ts';
import { createClientFinder } from './aws/rotation-client.ts';
import { parseRotationEvent } from './aws/rotation-event.ts';
import { createReporter } from './broker/health/notify.ts';
import { createRotation } from './broker/health/rotation.ts';
import type { ServiceName } from './broker/pair/pair.ts';
import { createPairChecker } from './health-checks.ts';

export type RotationHandler = (event: unknown, context: InvocationContext) => Promise<void>;

interface Options {
  /** Whose secrets: `token-broker/<environment>/<client>`. */
  readonly environment: string;
  /** The broker's Function URL. */
  readonly url: string;
  readonly tableName: string;
  /** The configured ones. */
  readonly services: readonly ServiceName[];
  readonly topicArn: string;
  /** What the checks are signed with; the function's own when left out. */
  readonly credentials?: TokenBrokerOptions['credentials'];
  readonly write?: (line: string) => void;
}

/** Wires the adapters to the rules: each call of the handler is one event; a call that fails is to be repeated. */
export function createRotationFunction(options: Options): RotationHandler {
  const { environment, url, tableName, services, topicArn, credentials, write = writeLine } = options;
  const now = Date.now;
  const log = createRotationLog({ environment, now, write });
  const memories = createMemoryTable({ dynamodb: createDynamoDBClient(PATIENT), tableName, now });

  const rotate = createRotation({
    services,
    findClient: createClientFinder({ environment, secretsManager: createSecretsManagerClient(PATIENT) }),
    checkPair: createPairChecker(createTokenBroker({ url, credentials, cache: false, maxAttempts: 1 })),
    notify: createNotifier({ sns: createSnsClient(), topicArn }),
    createReport: (notify) => createReporter({ environment, memories, notify, now, sleep }),
    record: log.record,
    now,
  });

  return async (event, context) => {
    const parsed = parseRotationEvent(event, environment);
    if (parsed.kind !== 'promotion') return log.ignore(parsed.kind);
    const records = await rotate(parsed, now() + context.getRemainingTimeInMillis() - WRITING_MS);
    if (records.length === 0) log.ignore('no-pairs');
  };
}

/** What the last message and the last writes take at their worst. */
const WRITING_MS = 15_000;

/** Nobody waits for a rotation. */
const PATIENT = {
  maxAttempts: 4,
  requestHandler: { connectionTimeout: 1_000, requestTimeout: 2_000, throwOnRequestTimeout: true },
};

function writeLine(line: string): void {
  process.stdout.write(line);
}
