import { setTimeout } from 'node:timers/promises';
import type { Message } from '../functions/health/rules/messages.ts';
import { createHealthFunction } from '../functions/health-function.ts';
import type { LocalCaller, LocalConfig } from '../lib/settings/local-config.ts';
import { LOCAL_ENVIRONMENT, tableName } from '../lib/settings/names.ts';
import type { LabelUpdate } from './aws/secret-store.ts';

interface Options {
  /** The broker's Function URL. */
  readonly url: string;
  readonly config: LocalConfig;
  /** Keys of the stack's own roles: `health` may check every pair, `probe` may do nothing. */
  readonly checkerKeys: { readonly health: LocalCaller; readonly probe: LocalCaller };
  readonly write: (line: string) => void;
  readonly onMessage: (message: Message) => void;
}

/** Creates the health function, with stand-ins for its events. Messages go to `onMessage`, without a topic. */
export function createChecker({ url, config, checkerKeys, write, onMessage }: Options) {
  const services = Object.keys(config.services);
  const variables = {
    TOKEN_BROKER_ENVIRONMENT: LOCAL_ENVIRONMENT,
    TOKEN_BROKER_URL: url,
    TOKEN_BROKER_TABLE: tableName(LOCAL_ENVIRONMENT),
    TOKEN_BROKER_SERVICES: services.join(' '),
    TOKEN_BROKER_SINGLE_TOKEN_SERVICES: services.filter((name) => config.services[name]?.singleActiveToken).join(' '),
    TOKEN_BROKER_TOPIC: 'none',
    TOKEN_BROKER_SUBSCRIBERS: '1',
    TOKEN_BROKER_PROBE_ROLE: checkerKeys.probe.role,
    TOKEN_BROKER_HEALTH_INTERVAL_SECONDS: `${config.provenForSeconds}`,
  };
  const health = createHealthFunction(variables, {
    credentials: checkerKeys.health,
    probeCredentials: checkerKeys.probe,
    sendMessage: async (message: Message) => onMessage(message),
    write,
    random: () => 0,
    // A run in AWS waits, to spare callers and services.
    sleep: (ms) => setTimeout(ms / 10),
  });
  return {
    /** Runs the health function once, as the schedule does in AWS. */
    run: () => health({}, CONTEXT),
    /** Stands in for EventBridge when Secrets Manager moves a stage. */
    labelUpdated: ({ label, ...detail }: LabelUpdate) => {
      const event = { source: 'aws.secretsmanager', detail: { ...detail, labelUpdated: label } };
      return health({ ...event, 'detail-type': 'Secret Label Updated' }, CONTEXT);
    },
  };
}

/** A run reads its time limit once. */
const CONTEXT = { getRemainingTimeInMillis: () => 12 * 60_000 };
