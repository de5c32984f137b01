import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import {
  CreateSecretCommand,
  ResourceExistsException,
  type SecretsManagerClient,
} from '@aws-sdk/client-secrets-manager';
import { causeWord } from '../../functions/aws/calls.ts';
import { createSecretsManagerClient } from '../../functions/aws/secrets-manager.ts';
import { secretName } from '../../functions/contract.ts';
import { createTokenFunction } from '../../functions/token-function.ts';
import { type LocalCaller, type LocalConfig, parseLocalConfig } from '../../lib/settings/local-config.ts';
import { functionName, tableName, tokenRoleName } from '../../lib/settings/names.ts';
import { ensurePairTable, ensureSealingKey, startDynamoDB } from './aws/dynamodb.ts';
import { startLogs } from './aws/logs.ts';
import { isDenied } from './aws/secret-policy.ts';
import type { LabelUpdate, StoredSecret } from './aws/secret-store.ts';
import { startSecretsManager } from './aws/secrets-manager.ts';
import type { AwsKey } from './aws/server.ts';
import type { PublishedMessage } from './aws/sns-sts.ts';
import { createCheckerKeys, type LocalCheckers, type StartBeside, startCheckers } from './checkers.ts';
import {
  ACCEPTED_CREDENTIALS,
  ACCEPTED_SECRET,
  exampleConfig,
  LOCAL_ENVIRONMENT,
  movedText,
  portBeside,
  randomKey,
} from './config.ts';
import { FUNCTION_ACCOUNT } from './function-url/event.ts';
import { type AnsweredRequest, startFunctionUrl } from './function-url/server.ts';
import type { PageClient } from './page/messages.ts';
import { startTokenService } from './token-service/server.ts';

const TABLE_NAME = tableName(LOCAL_ENVIRONMENT);
/** So that an incident of the services' stand-in shows in the checks a minute later, and not an hour. */
const REHEARSED_PROOF_SECONDS = 60;
const BROKER_ROLE = `arn:aws:iam::${FUNCTION_ACCOUNT}:role/${tokenRoleName(LOCAL_ENVIRONMENT)}`;

export interface LocalBroker {
  readonly url: string;
  readonly config: LocalConfig;
  /** What the broker itself signs with; absent when it uses the Secrets Manager and the key of this machine's user. */
  readonly brokerKey: LocalCaller | undefined;
  /** Where `POST /health-run` starts what the schedule starts in AWS. */
  readonly controlUrl: string;
  /** The services' stand-in; absent when a configuration brings its own services. */
  readonly tokenServiceUrl: string | undefined;
  /** The addresses of everything that was started here. */
  readonly standIns: readonly string[];
  /** Says which stand-ins are not where they should be. */
  readonly moved: readonly string[];
  /** The clients that have a secret, while Secrets Manager is a stand-in of this process. */
  readonly clients: () => readonly PageClient[];
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
  const [moved, standIns]: [string[], string[]] = [[], []];
  let clients: LocalBroker['clients'] = () => [];
  const startBeside: StartBeside = async (offset, name, start) => {
    const wanted = portBeside(port, offset);
    const server = await start(wanted);
    closers.push(server.close);
    standIns.push(server.url);
    moved.push(...movedText(name, wanted, server.url));
    return server;
  };
  try {
    const accepted = { credentials: ACCEPTED_CREDENTIALS, acceptedSecret: ACCEPTED_SECRET };
    const startServices = (wanted: number) => startTokenService({ ...accepted, port: wanted });
    const tokenService = input === undefined ? await startBeside(2, 'the services', startServices) : undefined;
    const config = parseLocalConfig(input ?? exampleConfig(tokenService?.authUrl ?? String));

    process.env.AWS_REGION ??= 'us-east-1';
    const events = createEventQueue(onEventFailure);
    const brokerKey = process.env.AWS_ENDPOINT_URL_SECRETS_MANAGER ? undefined : randomKey(BROKER_ROLE);
    if (brokerKey !== undefined) signWith(brokerKey);
    const secretsManager = createSecretsManagerClient();
    const own = { ...(await secretsManager.config.credentials()), role: BROKER_ROLE, mayReadSecrets: true };
    const keys = [...keysOf(config), own];
    if (brokerKey !== undefined) {
      const startSecrets = (wanted: number) =>
        startSecretsManager({ keys, onLabelUpdated: events.deliver, port: wanted });
      const standIn = await startBeside(3, 'Secrets Manager', startSecrets);
      process.env.AWS_ENDPOINT_URL_SECRETS_MANAGER = standIn.url;
      clients = () => standIn.store.all().flatMap(readClient);
    }
    await storeSecrets(secretsManager, config.credentials);
    if (!process.env.AWS_ENDPOINT_URL_DYNAMODB) {
      const startTable = (wanted: number) => startDynamoDB({ keys, port: wanted });
      process.env.AWS_ENDPOINT_URL_DYNAMODB = (await startBeside(4, 'DynamoDB', startTable)).url;
    }
    await ensurePairTable(new DynamoDBClient(), TABLE_NAME);
    await ensureSealingKey(secretsManager, LOCAL_ENVIRONMENT);
    secretsManager.destroy();

    const logGroup = functionName(LOCAL_ENVIRONMENT);
    const logs = await startBeside(5, 'CloudWatch Logs', (wanted) => startLogs({ keys, logGroup, port: wanted }));
    process.env.AWS_ENDPOINT_URL_CLOUDWATCH_LOGS = logs.url;
    const log = (line: string) => {
      logs.add(line);
      write(line);
    };

    const { services, accessRules, provenForSeconds, callers } = config;
    const checkerKeys = createCheckerKeys();
    const { handler } = createTokenFunction({
      environment: LOCAL_ENVIRONMENT,
      tableName: TABLE_NAME,
      settings: { services, accessRules, provenForSeconds: tokenService ? REHEARSED_PROOF_SECONDS : provenForSeconds },
      checkerRoles: [checkerKeys.health.role],
      write: log,
    });
    const everyone = [...callers, ...Object.values(checkerKeys)];
    const functionUrl = await startFunctionUrl({ handler, callers: everyone, port, ...(onAnswer && { onAnswer }) });
    closers.push(functionUrl.close);
    const { url } = functionUrl;
    const names = { environment: LOCAL_ENVIRONMENT, tableName: TABLE_NAME };
    const checkers = await startCheckers({ ...names, url, config, keys, checkerKeys, write, onMessage, startBeside });
    closers.push(checkers.close, events.settled);
    events.subscribe(checkers.labelUpdated);
    const { controlUrl } = checkers;
    const tokenServiceUrl = tokenService?.url;
    const addresses = { url, controlUrl, tokenServiceUrl, standIns, moved };
    return { ...addresses, config, brokerKey, clients, eventsSettled: events.settled, close };
  } catch (error) {
    await close();
    throw error;
  }
}

function readClient(secret: StoredSecret): readonly PageClient[] {
  const prefix = secretName(LOCAL_ENVIRONMENT, '');
  if (!secret.name.startsWith(prefix)) return [];
  const stopped = isDenied(secret, BROKER_ROLE) ? 'stopped' : undefined;
  return [{ name: secret.name.slice(prefix.length), state: secret.deletion ? 'deleted' : stopped }];
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

/** From now on this process signs with a key of its own, so that no key of this machine's user is sent anywhere. */
function signWith({ accessKeyId, secretAccessKey }: LocalCaller): void {
  Object.assign(process.env, { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey });
  delete process.env.AWS_SESSION_TOKEN;
  delete process.env.AWS_PROFILE;
}

/** The callers' keys; as in docs/operations.md, the roles that look after clients may read their secrets. */
function keysOf({ callers, accessRules }: LocalConfig): readonly AwsKey[] {
  const mayCheck = (role: string) =>
    accessRules.some((rule) => rule.role === role && rule.operations.includes('check'));
  return callers.map((caller) => ({ ...caller, mayReadSecrets: mayCheck(caller.role) }));
}

/** Stores the clients' credentials where there is none yet: what is found in Secrets Manager is left as it is. */
async function storeSecrets(
  secretsManager: SecretsManagerClient,
  credentials: Readonly<Record<string, unknown>>,
): Promise<void> {
  for (const [client, credential] of Object.entries(credentials)) {
    const Name = secretName(LOCAL_ENVIRONMENT, client);
    try {
      await secretsManager.send(new CreateSecretCommand({ Name, SecretString: JSON.stringify(credential) }));
    } catch (error) {
      if (error instanceof ResourceExistsException) continue;
      const { AWS_ENDPOINT_URL_SECRETS_MANAGER: endpoint } = process.env;
      throw new Error(`cannot store the secret "${Name}" at ${endpoint}: ${causeWord(error)}`);
    }
  }
}
