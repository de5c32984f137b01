import { randomUUID } from 'node:crypto';
import { createHealthFunction } from '../../functions/health-function.ts';
import type { LocalCaller, LocalConfig } from '../../lib/local-config.ts';
import type { LabelUpdate } from './aws/secret-store.ts';
import { type PublishedMessage, startSns } from './aws/sns.ts';
import { startSts } from './aws/sts.ts';
import { type ControlServer, startControl } from './control.ts';

const ACCOUNT = '111111111111';
const TOPIC_ARN = `arn:aws:sns:us-east-1:${ACCOUNT}:token-broker-local`;

const HEALTH = checker('health', 'AKIDLOCALHEALTH');
const PROBE = checker('probe', 'AKIDLOCALPROBE');

/** The stack's own roles with made-up keys, beside the callers of the configuration. */
export const CHECKERS: readonly LocalCaller[] = [HEALTH, PROBE];
/** Those that may check every pair. */
export const CHECKER_ROLES: readonly string[] = [HEALTH.role];

export interface LocalCheckers {
  /** Where `POST /health-run` starts what the schedule starts in AWS. */
  readonly controlUrl: string;
  /** What EventBridge does when Secrets Manager moves a stage. */
  readonly labelUpdated: (update: LabelUpdate) => Promise<unknown>;
  readonly close: () => Promise<void>;
}

interface Options {
  readonly environment: string;
  readonly tableName: string;
  /** The broker's Function URL. */
  readonly url: string;
  readonly config: LocalConfig;
  readonly write: (line: string) => void;
  readonly onMessage: (message: PublishedMessage) => void;
}

/** Starts the health function, with stand-ins for the topic of the operators and for STS. */
export async function startCheckers({ environment, tableName, url, config, ...out }: Options): Promise<LocalCheckers> {
  const sns = await startSns({ topicArn: TOPIC_ARN, onMessage: out.onMessage });
  const sts = await startSts({ roles: [PROBE] });
  Object.assign(process.env, { AWS_ENDPOINT_URL_SNS: sns.url, AWS_ENDPOINT_URL_STS: sts.url });

  const services = Object.keys(config.services);
  const health = createHealthFunction({
    environment,
    tableName,
    url,
    services,
    singleTokenServices: services.filter((service) => config.services[service]?.singleActiveToken),
    topicArn: TOPIC_ARN,
    probeRoleArn: PROBE.role,
    intervalSeconds: config.provenForSeconds,
    credentials: HEALTH,
    write: out.write,
  });
  const control: ControlServer = await startControl({ runHealth: () => health({}, contextOf(TIMEOUT_MS)) });

  return {
    controlUrl: control.url,
    labelUpdated: (update) => health(labelUpdatedEvent(update), contextOf(TIMEOUT_MS)),
    close: async () => {
      await Promise.all([control.close(), sns.close(), sts.close()]);
    },
  };
}

/** @see https://docs.aws.amazon.com/secretsmanager/latest/userguide/monitoring-eventbridge.html */
function labelUpdatedEvent({ name, arn, versionId, label }: LabelUpdate) {
  return {
    version: '0',
    id: randomUUID(),
    'detail-type': 'Secret Label Updated',
    source: 'aws.secretsmanager',
    account: ACCOUNT,
    time: new Date().toISOString(),
    region: 'us-east-1',
    resources: [arn],
    detail: { name, arn, versionId, labelUpdated: label },
  };
}

function contextOf(timeoutMs: number) {
  const end = performance.now() + timeoutMs;
  return { getRemainingTimeInMillis: () => Math.max(0, end - performance.now()) };
}

function checker(name: string, accessKeyId: string): LocalCaller {
  const role = `arn:aws:iam::${ACCOUNT}:role/token-broker-${name}-local`;
  return { role, accessKeyId, secretAccessKey: `local-${name}-secret` };
}

const TIMEOUT_MS = 12 * 60_000;
