import { randomBytes } from 'node:crypto';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { createDynamoDB } from '../functions/aws/dynamodb.ts';
import { createHttpsSender } from '../functions/aws/https/sender.ts';
import { createSecretsManager } from '../functions/aws/secrets-manager.ts';
import type { Message } from '../functions/health/rules/messages.ts';
import { createTokenFunction } from '../functions/token-function.ts';
import { sealingKeyName, secretName, secretPrefix } from '../functions/vocabulary.ts';
import { type LocalConfig, parseLocalConfig } from '../lib/settings/local-config.ts';
import { functionName, LOCAL_ENVIRONMENT, tableName, tokenRoleName } from '../lib/settings/names.ts';
import { ensurePairTable, startDynamoDB } from './aws/dynamodb.ts';
import { startLogs } from './aws/logs.ts';
import type { LabelUpdate, StoredSecret } from './aws/secret-store.ts';
import { isDenied, startSecretsManager } from './aws/secrets-manager.ts';
import type { AwsKey } from './aws/server.ts';
import { type StartBeside, startCheckers } from './checkers.ts';
import { ACCEPTED_CREDENTIALS, ACCEPTED_SECRET, CHECKERS, exampleConfig, randomKey, roleArn } from './config.ts';
import { type AnsweredRequest, startFunctionUrl } from './function-url/server.ts';
import type { LoopbackServer } from './loopback.ts';
import { createCallRecorder } from './recorder.ts';
import { startTokenService } from './token-service/server.ts';

const TABLE_NAME = tableName(LOCAL_ENVIRONMENT);
const BROKER_ROLE = roleArn(tokenRoleName(LOCAL_ENVIRONMENT));
/** Checks notice an incident of the services' stand-in after a minute, not after an hour. */
const REHEARSED_PROOF_SECONDS = 60;

export type LocalBroker = Awaited<ReturnType<typeof startLocalBroker>>;

interface Options {
  readonly port: number;
  /** The content of a `--config` file. Defaults to the example with its own services. */
  readonly config?: unknown;
  /** The folder of that file. Relative file names in the configuration start from this folder. */
  readonly folder?: string | undefined;
  /** Receives the audit lines. */
  readonly write: (line: string) => void;
  readonly onAnswer?: (answered: AnsweredRequest) => void;
  /** Receives the messages to operators. */
  readonly onMessage: (message: Message) => void;
  /** Receives the error when the health function fails on an event. */
  readonly onEventFailure: (error: unknown) => void;
}

/**
 * Starts the whole broker on this machine: the real handlers, with stand-ins for AWS and the services.
 * Sets this process's AWS variables to the stand-ins.
 */
export async function startLocalBroker(options: Options) {
  const { port, config: input, folder, write, onAnswer, onMessage, onEventFailure } = options;
  const servers: LoopbackServer[] = [];
  const moved: string[] = [];
  const events = new Set<Promise<unknown>>();
  const close = async () => {
    for (const server of servers.splice(0).toReversed()) await server.close();
  };
  const startBeside: StartBeside = async (offset, name, start) => {
    const wanted = port === 0 ? 0 : port + offset;
    const server = await start(wanted);
    servers.push(server);
    if (wanted !== 0 && !server.url.endsWith(`:${wanted}`)) {
      moved.push(
        `The address of ${name} is ${server.url}, because ${wanted > 65_535 ? `there is no port ${wanted}` : `port ${wanted} is not free`}.`,
      );
    }
    return server;
  };
  try {
    const accepted = { credentials: ACCEPTED_CREDENTIALS, acceptedSecret: ACCEPTED_SECRET };
    const tokenService =
      input === undefined
        ? await startBeside(2, 'the services', (wanted) => startTokenService({ ...accepted, port: wanted }))
        : undefined;
    const config = parseLocalConfig(input ?? exampleConfig(tokenService?.authUrl ?? String), folder);

    // A random key replaces the AWS key of this machine's user, which must never be sent anywhere.
    const { accessKeyId, secretAccessKey } = randomKey(BROKER_ROLE);
    const own = { accessKeyId, secretAccessKey, role: BROKER_ROLE, mayReadSecrets: true };
    const keys = [...keysOf(config), own];
    const onLabelUpdated = (update: LabelUpdate) => {
      const work = checkers.labelUpdated(update).catch(onEventFailure);
      events.add(work);
      void work.finally(() => events.delete(work));
    };
    const secrets = await startBeside(3, 'Secrets Manager', (wanted) =>
      startSecretsManager({ keys, onLabelUpdated, port: wanted }),
    );
    for (const [client, credential] of Object.entries(config.credentials)) {
      const { services = [] } = credential;
      const names = typeof services === 'string' || Array.isArray(services) ? services : Object.keys(services);
      const Tags = credential.services && [{ Key: 'services', Value: [names].flat().join(' ') }];
      secrets.store.put(secretName(LOCAL_ENVIRONMENT, client), JSON.stringify(credential), { Tags });
    }
    secrets.store.put(sealingKeyName(LOCAL_ENVIRONMENT), randomBytes(48).toString('base64'));
    const spectator = { ...randomKey(roleArn('page')), mayReadSecrets: false };
    const dynamodb = await startBeside(4, 'DynamoDB', (wanted) =>
      startDynamoDB({ keys, spectators: [spectator], port: wanted }),
    );
    const logGroup = functionName(LOCAL_ENVIRONMENT);
    const logs = await startBeside(5, 'CloudWatch Logs', (wanted) => startLogs({ keys, logGroup, port: wanted }));
    process.env.AWS_REGION ??= 'us-east-1';
    delete process.env.AWS_SESSION_TOKEN;
    delete process.env.AWS_PROFILE;
    Object.assign(process.env, {
      AWS_ACCESS_KEY_ID: accessKeyId,
      AWS_SECRET_ACCESS_KEY: secretAccessKey,
      AWS_ENDPOINT_URL_SECRETS_MANAGER: secrets.url,
      AWS_ENDPOINT_URL_DYNAMODB: dynamodb.url,
      AWS_ENDPOINT_URL_CLOUDWATCH_LOGS: logs.url,
      // Outranks the profile, in which the SDK would otherwise find that it ignores these variables.
      AWS_IGNORE_CONFIGURED_ENDPOINT_URLS: 'false',
    });
    await ensurePairTable(new DynamoDBClient(), TABLE_NAME);

    const { services, accessRules, provenForSeconds, callers } = config;
    const checkerKeys = { health: randomKey(roleArn(CHECKERS.health)), probe: randomKey(roleArn(CHECKERS.probe)) };
    const names = { environment: LOCAL_ENVIRONMENT, tableName: TABLE_NAME };
    const recorder = createCallRecorder();
    const send = recorder.watch(createHttpsSender());
    const { handler } = createTokenFunction({
      ...names,
      settings: { services, accessRules, provenForSeconds: tokenService ? REHEARSED_PROOF_SECONDS : provenForSeconds },
      checkerRoles: [checkerKeys.health.role],
      secretsManager: createSecretsManager({ send, environment: LOCAL_ENVIRONMENT }),
      dynamodb: createDynamoDB({ send, environment: LOCAL_ENVIRONMENT }),
      send,
      probeRole: checkerKeys.probe.role,
      write: (line) => {
        logs.add(line);
        write(line);
      },
    });
    const known = [...callers, ...Object.values(checkerKeys)];
    const functionUrl = await startFunctionUrl({
      handler: recorder.follow(handler),
      callers: known,
      port,
      ...(onAnswer && { onAnswer }),
    });
    servers.push(functionUrl);
    const { url } = functionUrl;
    const playTable = dynamodb.play;
    const checkers = await startCheckers({
      ...{ ...names, url, config, checkerKeys, write, onMessage, playTable, startBeside },
    });
    return {
      url,
      config,
      /** The server whose `POST /health-run` stands in for the schedule. */
      controlUrl: checkers.controlUrl,
      /** Runs the health function once, as the schedule does in AWS. */
      runSchedule: checkers.run,
      /** The services' stand-in. Absent when a configuration defines its own services. */
      tokenServiceUrl: tokenService?.url,
      /** The last incident that each service of the stand-in was ordered to play. */
      playing: tokenService?.playing,
      /** Orders a service of the stand-in to play an incident. */
      play: tokenService?.play,
      /** Orders the table to play an incident. Returns `undefined` when there is no such incident. */
      playTable,
      /** Returns the last incident that the table was ordered to play. */
      playingTable: dynamodb.playing,
      /** The key of a view of the table that notices no incident. */
      spectator,
      /** Returns the requests that the broker sent while it answered a call. */
      sentFor: recorder.sentFor,
      /** A sentence for each server whose usual port was not available. */
      moved: moved as readonly string[],
      /** Lists the clients that have a secret. */
      clients: () => secrets.store.all().flatMap(readClient),
      tableName: TABLE_NAME,
      startBeside,
      /** Waits until the health function has handled every event so far. */
      eventsSettled: async () => void (await Promise.all(events)),
      /** Stops the servers without waiting for the events. */
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** The metadata of a client's secret for the board. It contains no secret value. */
export interface StoredClient {
  readonly name: string;
  /** The version with the stage AWSCURRENT. */
  readonly current: string | undefined;
  /** The tag `services`. */
  readonly servicesTag: string | undefined;
  /** Absent unless an operator has disabled or deleted the client. */
  readonly state?: 'disabled' | 'deleted' | undefined;
}

function readClient(secret: StoredSecret): readonly StoredClient[] {
  const prefix = secretPrefix(LOCAL_ENVIRONMENT);
  if (!secret.name.startsWith(prefix)) return [];
  return [
    {
      name: secret.name.slice(prefix.length),
      current: secret.versions.withStage('AWSCURRENT')?.versionId,
      servicesTag: secret.tags.get('services'),
      state: secret.deletion ? 'deleted' : isDenied(secret, BROKER_ROLE) ? 'disabled' : undefined,
    },
  ];
}

/** The callers' keys. As in docs/runbook.md, roles that manage clients may read their secrets. */
function keysOf({ callers, accessRules }: LocalConfig): readonly AwsKey[] {
  const mayCheck = (role: string) =>
    accessRules.some((rule) => rule.role === role && rule.operations.includes('check'));
  return callers.map((caller) => ({ ...caller, mayReadSecrets: mayCheck(caller.role) }));
}
