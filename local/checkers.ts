import type { Message } from '../functions/health/rules/messages.ts';
import { createHealthFunction } from '../functions/health-function.ts';
import type { LocalCaller, LocalConfig } from '../lib/settings/local-config.ts';
import type { LabelUpdate } from './aws/secret-store.ts';
import { json, type LoopbackServer, type ReceivedRequest, serve } from './loopback.ts';

/** Starts a server, if possible `offset` ports after the broker's. The server stops together with the broker. */
export type StartBeside = <Started extends LoopbackServer>(
  offset: number,
  name: string,
  start: (port: number) => Promise<Started>,
) => Promise<Started>;

interface Options {
  readonly environment: string;
  readonly tableName: string;
  /** The broker's Function URL. */
  readonly url: string;
  readonly config: LocalConfig;
  /** Keys of the stack's own roles: `health` may check every pair, `probe` may do nothing. */
  readonly checkerKeys: { readonly health: LocalCaller; readonly probe: LocalCaller };
  readonly write: (line: string) => void;
  readonly onMessage: (message: Message) => void;
  /** Orders the table to play an incident. Returns `undefined` when there is no such incident. */
  readonly playTable: (name: string) => object | undefined;
  readonly startBeside: StartBeside;
}

/** Starts the health function, with a stand-in for the schedule. Messages go to `onMessage`, without a topic. */
export async function startCheckers(options: Options) {
  const { environment, tableName, url, config, checkerKeys, write, onMessage, playTable, startBeside } = options;
  const services = Object.keys(config.services);
  const variables = {
    TOKEN_BROKER_ENVIRONMENT: environment,
    TOKEN_BROKER_URL: url,
    TOKEN_BROKER_TABLE: tableName,
    TOKEN_BROKER_SERVICES: services.join(' '),
    TOKEN_BROKER_SINGLE_TOKEN_SERVICES: services.filter((name) => config.services[name]?.singleActiveToken).join(' '),
    TOKEN_BROKER_TOPIC: 'none',
    TOKEN_BROKER_SUBSCRIBERS: '1',
    TOKEN_BROKER_PROBE_ROLE: checkerKeys.probe.role,
    TOKEN_BROKER_HEALTH_INTERVAL_SECONDS: `${config.provenForSeconds}`,
  };
  const { health: credentials, probe: probeCredentials } = checkerKeys;
  const sendMessage = async (message: Message) => onMessage(message);
  const health = createHealthFunction(variables, {
    credentials,
    probeCredentials,
    sendMessage,
    write,
    random: () => 0,
  });

  const run = () => health({}, CONTEXT);

  /** `POST /health-run` runs the health function, `POST /table/<name>` plays an incident. Answers with the result. */
  async function answerControl({ method, path }: ReceivedRequest) {
    const incident = method === 'POST' ? playTable(path.replace('/table/', '')) : undefined;
    if (incident !== undefined) return json(200, incident);
    if (method !== 'POST' || path !== '/health-run') return json(404, { message: 'POST /health-run' });
    return run().then(
      (result) => json(200, result),
      (error: unknown) => json(500, { message: error instanceof Error ? error.message : 'the health run failed' }),
    );
  }

  const control = await startBeside(6, 'the schedule', (port) => serve(answerControl, { port, refusesForeign: true }));
  return {
    controlUrl: control.url,
    run,
    /** Stands in for EventBridge when Secrets Manager moves a stage. */
    labelUpdated: ({ label, ...detail }: LabelUpdate) => {
      const event = { source: 'aws.secretsmanager', detail: { ...detail, labelUpdated: label } };
      return health({ ...event, 'detail-type': 'Secret Label Updated' }, CONTEXT);
    },
  };
}

/** A run reads its time limit once. */
const CONTEXT = { getRemainingTimeInMillis: () => 12 * 60_000 };
