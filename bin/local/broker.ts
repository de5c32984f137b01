import { createDynamoDBClient, createSecretsManagerClient } from '../../functions/aws/clients.ts';
import { createTokenFunction } from '../../functions/token-function.ts';
import { type LocalCaller, type LocalConfig, parseLocalConfig } from '../../lib/local-config.ts';
import { tableName, tokenRoleName } from '../../lib/names.ts';
import { ensurePairTable, ensureSealingKey, startDynamoDB } from './aws/dynamodb.ts';
import type { LabelUpdate } from './aws/secret-store.ts';
import { startSecretsManager } from './aws/secrets-manager.ts';
import type { PublishedMessage } from './aws/sns.ts';
import { CHECKER_ROLES, CHECKERS, type LocalCheckers, startCheckers } from './checkers.ts';
import { ACCEPTED_CREDENTIALS, exampleConfig } from './config.ts';
import { FUNCTION_ACCOUNT } from './function-url/event.ts';
import { type AnsweredRequest, startFunctionUrl } from './function-url/server.ts';
import { storeSecrets } from './store-secrets.ts';
import { startTokenService } from './token-service/server.ts';

/** The environment's name: a client's secret is `token-broker/local/<client>`. */
export const LOCAL_ENVIRONMENT = 'local';

const TABLE_NAME = tableName(LOCAL_ENVIRONMENT);

export interface LocalBroker {
  readonly url: string;
  readonly config: LocalConfig;
  /** Starts a health run, see `startControl`. */
  readonly controlUrl: string;
  /** The services' stand-in; absent when a configuration brings its own services. */
  readonly tokenServiceUrl: string | undefined;
  /** Waits until the health function is done with every event so far. */
  readonly eventsSettled: () => Promise<void>;
  readonly close: () => Promise<void>;
}

interface Options {
  readonly port: number;
  /** In the form of a `--config` file; left out, the example with its own services. */
  readonly config?: unknown;
  /** Takes the audit lines. */
  readonly write: (line: string) => void;
  readonly onAnswer?: (answered: AnsweredRequest) => void;
  /** Takes what operators are told. */
  readonly onMessage: (message: PublishedMessage) => void;
  /** Takes why the health function failed upon an event. */
  readonly onEventFailure: (error: unknown) => void;
}

/**
 * Starts the whole broker on this machine: the real handler and the real AWS SDK, with stand-ins for what is AWS's and
 * the services'. Points this process's AWS variables at them, unless `AWS_ENDPOINT_URL_SECRETS_MANAGER` says where to.
 */
export async function startLocalBroker(options: Options): Promise<LocalBroker> {
  const { port, config: input, write, onAnswer, onMessage, onEventFailure } = options;
  const closers: (() => Promise<void>)[] = [];
  const close = async () => {
    for (const closeOne of closers.splice(0).toReversed()) await closeOne();
  };
  try {
    const tokenService =
      input === undefined ? await startTokenService({ credentials: ACCEPTED_CREDENTIALS }) : undefined;
    if (tokenService !== undefined) closers.push(tokenService.close);
    const config = parseLocalConfig(input ?? exampleConfig(tokenService?.authUrl ?? String));

    process.env.AWS_REGION ??= 'us-east-1';
    const events = createEventQueue(onEventFailure);
    if (!process.env.AWS_ENDPOINT_URL_SECRETS_MANAGER) closers.push(await useOwnSecretsManager(events.deliver));
    await storeSecrets(LOCAL_ENVIRONMENT, config.credentials);
    if (!process.env.AWS_ENDPOINT_URL_DYNAMODB) closers.push(await useOwnDynamoDB());
    await ensurePairTable(createDynamoDBClient(), TABLE_NAME);
    await ensureSealingKey(createSecretsManagerClient(), LOCAL_ENVIRONMENT);

    const { services, accessRules, provenForSeconds, callers } = config;
    const { handler } = createTokenFunction({
      environment: LOCAL_ENVIRONMENT,
      tableName: TABLE_NAME,
      settings: { services, accessRules, provenForSeconds },
      checkerRoles: CHECKER_ROLES,
      write,
    });
    const everyone = [...callers, ...CHECKERS];
    const functionUrl = await startFunctionUrl({ handler, callers: everyone, port, ...(onAnswer && { onAnswer }) });
    closers.push(functionUrl.close);
    const { url } = functionUrl;
    const names = { environment: LOCAL_ENVIRONMENT, tableName: TABLE_NAME };
    const checkers = await startCheckers({ ...names, url, config, write, onMessage });
    closers.push(checkers.close, events.settled);
    events.subscribe(checkers.labelUpdated);
    const { controlUrl } = checkers;
    return { url, config, controlUrl, tokenServiceUrl: tokenService?.url, eventsSettled: events.settled, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** What EventBridge is between Secrets Manager and the health function: events before there is a subscriber are lost. */
function createEventQueue(onFailure: (error: unknown) => void) {
  const running = new Set<Promise<unknown>>();
  let subscriber: LocalCheckers['labelUpdated'] | undefined;
  return {
    subscribe(labelUpdated: LocalCheckers['labelUpdated']) {
      subscriber = labelUpdated;
    },
    deliver(update: LabelUpdate) {
      const work = subscriber?.(update).catch(onFailure);
      if (work === undefined) return;
      running.add(work);
      void work.finally(() => running.delete(work));
    },
    async settled() {
      await Promise.all(running);
    },
  };
}

/** With made-up keys, so that nobody's own keys are sent anywhere. */
async function useOwnSecretsManager(onLabelUpdated: (update: LabelUpdate) => void): Promise<() => Promise<void>> {
  const roles = { [BROKER_KEY]: `arn:aws:iam::${FUNCTION_ACCOUNT}:role/${tokenRoleName(LOCAL_ENVIRONMENT)}` };
  const secretsManager = await startSecretsManager({ onLabelUpdated, roles });
  Object.assign(process.env, {
    AWS_ENDPOINT_URL_SECRETS_MANAGER: secretsManager.url,
    AWS_ACCESS_KEY_ID: BROKER_KEY,
    AWS_SECRET_ACCESS_KEY: 'local-broker-secret',
  });
  delete process.env.AWS_SESSION_TOKEN;
  delete process.env.AWS_PROFILE;
  return secretsManager.close;
}

/** What the broker signs with; Secrets Manager takes it for the role of the token function. */
const BROKER_KEY = 'AKIDLOCALBROKER';

async function useOwnDynamoDB(): Promise<() => Promise<void>> {
  const dynamodb = await startDynamoDB();
  process.env.AWS_ENDPOINT_URL_DYNAMODB = dynamodb.url;
  return dynamodb.close;
}

/** A caller and a pair that it may ask for, to show in an example; `undefined` when no rule names a caller. */
export function exampleCall({ callers, accessRules, services, credentials }: LocalConfig): ExampleCall | undefined {
  for (const caller of callers) {
    const rule = accessRules.find(({ role, operations }) => role === caller.role && operations.includes('token'));
    const client = rule?.clients === 'all' ? Object.keys(credentials)[0] : rule?.clients[0];
    const service = rule?.services === 'all' ? Object.keys(services)[0] : rule?.services[0];
    if (client !== undefined && service !== undefined) return { caller, client, service };
  }
  return undefined;
}

export interface ExampleCall {
  readonly caller: LocalCaller;
  readonly client: string;
  readonly service: string;
}
