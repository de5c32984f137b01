import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createHealthFunction } from '../../functions/health-function.ts';
import type { LocalCaller, LocalConfig } from '../../lib/settings/local-config.ts';
import type { LabelUpdate } from './aws/secret-store.ts';
import type { StandInOptions } from './aws/server.ts';
import { type PublishedMessage, startSns, startSts } from './aws/sns-sts.ts';
import { randomKey } from './config.ts';
import { FUNCTION_ACCOUNT } from './function-url/event.ts';
import { listenNear, refuseForeign, sendJson, stop } from './loopback.ts';

const TOPIC_ARN = `arn:aws:sns:us-east-1:${FUNCTION_ACCOUNT}:token-broker-local`;

/** Keys of the stack's own roles: `health` may check every pair, `probe` nothing. */
export interface CheckerKeys {
  readonly health: LocalCaller;
  readonly probe: LocalCaller;
}

/** Makes keys that the Function URL has to know beside those of the callers. */
export function createCheckerKeys(): CheckerKeys {
  const roleOf = (name: string) => `arn:aws:iam::${FUNCTION_ACCOUNT}:role/token-broker-${name}-local`;
  return { health: randomKey(roleOf('health')), probe: randomKey(roleOf('probe')) };
}

export interface LocalCheckers {
  /** Where `POST /health-run` starts what the schedule starts in AWS. */
  readonly controlUrl: string;
  /** What EventBridge does when Secrets Manager moves a stage. */
  readonly labelUpdated: (update: LabelUpdate) => Promise<unknown>;
  readonly close: () => Promise<void>;
}

/** Starts a server so many ports behind the broker's, where it can, and ends it with the broker. */
export type StartBeside = <Server extends { readonly url: string; readonly close: () => Promise<void> }>(
  offset: number,
  name: string,
  start: (wanted: number) => Promise<Server>,
) => Promise<Server>;

interface Options extends StandInOptions {
  readonly environment: string;
  readonly tableName: string;
  /** The broker's Function URL. */
  readonly url: string;
  readonly config: LocalConfig;
  readonly checkerKeys: CheckerKeys;
  readonly write: (line: string) => void;
  readonly onMessage: (message: PublishedMessage) => void;
  readonly startBeside: StartBeside;
}

/** Starts the health function, with stand-ins for the topic of the operators and for STS. */
export async function startCheckers(options: Options): Promise<LocalCheckers> {
  const { environment, tableName, url, config, keys, checkerKeys, write, onMessage, startBeside } = options;
  const startTopic = (port: number) => startSns({ keys, topicArn: TOPIC_ARN, onMessage, port });
  const sns = await startBeside(7, 'SNS', startTopic);
  const sts = await startSts({ keys, roles: [checkerKeys.probe] });
  Object.assign(process.env, { AWS_ENDPOINT_URL_SNS: sns.url, AWS_ENDPOINT_URL_STS: sts.url });

  const services = Object.keys(config.services);
  const singleTokenServices = services.filter((service) => config.services[service]?.singleActiveToken);
  const variables = {
    TOKEN_BROKER_ENVIRONMENT: environment,
    TOKEN_BROKER_URL: url,
    TOKEN_BROKER_TABLE: tableName,
    TOKEN_BROKER_SERVICES: services.join(' '),
    TOKEN_BROKER_SINGLE_TOKEN_SERVICES: singleTokenServices.join(' '),
    TOKEN_BROKER_TOPIC: TOPIC_ARN,
    TOKEN_BROKER_PROBE_ROLE: checkerKeys.probe.role,
    TOKEN_BROKER_HEALTH_INTERVAL_SECONDS: `${config.provenForSeconds}`,
  };
  const health = createHealthFunction(variables, { credentials: checkerKeys.health, write });
  const server = createServer((request, response) => void answerControl(request, response));
  const control = await startBeside(6, 'the schedule', async (wanted) => ({
    url: `http://127.0.0.1:${await listenNear(server, wanted)}`,
    close: () => stop(server),
  }));

  /** `POST /health-run` runs the health function once and answers with its result; no page of a browser can ask for it. */
  async function answerControl(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const refused = refuseForeign(request);
    if (refused !== undefined) return sendJson(response, refused.status, { message: refused.message });
    if (request.method !== 'POST' || request.url !== '/health-run') {
      return sendJson(response, 404, { message: 'POST /health-run' });
    }
    try {
      sendJson(response, 200, { ...(await health({}, CONTEXT)) });
    } catch (error) {
      sendJson(response, 500, { message: error instanceof Error ? error.message : 'the health run failed' });
    }
  }

  return {
    controlUrl: control.url,
    labelUpdated: (update) => health(labelUpdatedEvent(update), CONTEXT),
    close: sts.close,
  };
}

/** @see https://docs.aws.amazon.com/secretsmanager/latest/userguide/monitoring-eventbridge.html */
function labelUpdatedEvent({ name, arn, versionId, label }: LabelUpdate) {
  return {
    version: '0',
    id: randomUUID(),
    'detail-type': 'Secret Label Updated',
    source: 'aws.secretsmanager',
    account: FUNCTION_ACCOUNT,
    time: new Date().toISOString(),
    region: 'us-east-1',
    resources: [arn],
    detail: { name, arn, versionId, labelUpdated: label },
  };
}

/** A run reads once how long it may take. */
const CONTEXT = { getRemainingTimeInMillis: () => 12 * 60_000 };
