import { randomBytes } from 'node:crypto';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { createDynamoDB } from '../functions/aws/dynamodb.ts';
import { createHttpsSender } from '../functions/aws/https/sender.ts';
import { readPairState } from '../functions/aws/pair-table/pair-state.ts';
import { createSecretsManager } from '../functions/aws/secrets-manager.ts';
import type { Message } from '../functions/health/rules/messages.ts';
import { createTokenFunction } from '../functions/token-function.ts';
import { sealingKeyName, secretName, secretPrefix } from '../functions/vocabulary.ts';
import { type LocalConfig, parseLocalConfig } from '../lib/settings/local-config.ts';
import { functionName, LOCAL_ENVIRONMENT, tableName, tokenRoleName } from '../lib/settings/names.ts';
import { createTables, ensurePairTable, readPairs } from './aws/dynamodb.ts';
import { createLogs } from './aws/logs.ts';
import type { LabelUpdate, StoredSecret } from './aws/secret-store.ts';
import { createSecrets, isDenied } from './aws/secrets-manager.ts';
import { type AwsKey, serveAws } from './aws/server.ts';
import { createChecker } from './checker.ts';
import { ACCEPTED_CREDENTIALS, ACCEPTED_SECRET, CHECKERS, exampleConfig, randomKey, roleArn } from './config.ts';
import { startFunctionUrl } from './function-url/server.ts';
import type { LoopbackServer } from './loopback.ts';
import { createPageCalls } from './page/calls.ts';
import { createFeed } from './page/feed.ts';
import { describeBroker, type StoredClient } from './page/overview.ts';
import { startPage } from './page/server.ts';
import { createCallRecorder } from './recorder.ts';
import { OUTRANKING } from './shell.ts';
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
  /** Receives the messages to operators. */
  readonly onMessage: (message: Message) => void;
  /** Receives the error of a function on a call or an event. */
  readonly onFailure: (what: string, error: unknown) => void;
}

/**
 * Starts the whole broker on this machine: the real handlers, with stand-ins for AWS and the services, and the page.
 * Sets this process's AWS variables to the stand-in.
 */
export async function startLocalBroker({ port, config: input, folder, onFailure, ...options }: Options) {
  const servers: LoopbackServer[] = [];
  const moved: string[] = [];
  const events = new Set<Promise<unknown>>();
  const close = async () => {
    for (const server of servers.splice(0).toReversed()) await server.close();
  };
  /** Starts a server, if possible `offset` ports after the broker's. */
  const startBeside = async <Started extends LoopbackServer>(
    offset: number,
    name: string,
    start: (port: number) => Promise<Started>,
  ): Promise<Started> => {
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
    const feed = createFeed();
    const write = (line: string) => {
      options.write(line);
      feed.audit(line);
    };
    const onMessage = (message: Message) => {
      options.onMessage(message);
      feed.message(message);
    };

    // A random key replaces the AWS key of this machine's user, which must never be sent anywhere.
    const own = { ...randomKey(BROKER_ROLE), mayReadSecrets: true };
    const spectator = { ...randomKey(roleArn('page')), mayReadSecrets: false, isSpectator: true };
    const onLabelUpdated = (update: LabelUpdate) => {
      const work = checker
        .labelUpdated(update)
        .catch((error) => onFailure('the health function failed upon an event', error));
      events.add(work);
      void work.finally(() => events.delete(work));
    };
    const [secrets, tables] = [createSecrets(onLabelUpdated), createTables()];
    const logs = createLogs(functionName(LOCAL_ENVIRONMENT));
    const keys = [...keysOf(config), own, spectator];
    const aws = await startBeside(3, 'AWS', (wanted) => serveAws([secrets, tables, logs], { keys, port: wanted }));
    for (const [client, credential] of Object.entries(config.credentials)) {
      const { services = [] } = credential;
      const names = typeof services === 'string' || Array.isArray(services) ? services : Object.keys(services);
      const Tags = credential.services && [{ Key: 'services', Value: [names].flat().join(' ') }];
      secrets.store.put(secretName(LOCAL_ENVIRONMENT, client), JSON.stringify(credential), { Tags });
    }
    secrets.store.put(sealingKeyName(LOCAL_ENVIRONMENT), randomBytes(48).toString('base64'));
    for (const name of OUTRANKING) delete process.env[name];
    process.env.AWS_REGION ||= 'us-east-1';
    Object.assign(process.env, {
      AWS_ACCESS_KEY_ID: own.accessKeyId,
      AWS_SECRET_ACCESS_KEY: own.secretAccessKey,
      AWS_ENDPOINT_URL: aws.url,
      // Outranks the profile, in which the SDK would otherwise find that it ignores these variables.
      AWS_IGNORE_CONFIGURED_ENDPOINT_URLS: 'false',
      // The SDK refuses both beside AWS_ENDPOINT_URL.
      AWS_USE_DUALSTACK_ENDPOINT: 'false',
      AWS_USE_FIPS_ENDPOINT: 'false',
    });
    const table = new DynamoDBClient({ credentials: spectator });
    await ensurePairTable(table, TABLE_NAME);

    const { services, accessRules, provenForSeconds, callers } = config;
    const checkerKeys = { health: randomKey(roleArn(CHECKERS.health)), probe: randomKey(roleArn(CHECKERS.probe)) };
    const recorder = createCallRecorder();
    const send = recorder.watch(createHttpsSender());
    const { handler } = createTokenFunction({
      environment: LOCAL_ENVIRONMENT,
      tableName: TABLE_NAME,
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
    const functionUrl = await startFunctionUrl({
      handler: recorder.follow(handler),
      callers: [...callers, ...Object.values(checkerKeys)],
      port,
      onAnswer: (answered) => {
        feed.answered(answered);
        if (answered.failure !== undefined) onFailure('the function failed', answered.failure);
      },
    });
    servers.push(functionUrl);
    const { url } = functionUrl;
    const checker = createChecker({ url, config, checkerKeys, write, onMessage });

    const { auditLine, findingOf } = feed;
    const { sentFor } = recorder;
    const clients = () => secrets.store.all().flatMap(readClient);
    const shown = { url, config, clients, findingOf, sentFor, playing: tokenService?.playing };
    const page = await startBeside(1, 'the page', (wanted) =>
      startPage({
        port: wanted,
        state: async () => {
          const readPair = readPairState.bind(undefined, await readPairs(table, TABLE_NAME));
          return { ...(await describeBroker({ ...shown, table: tables.playing(), readPair })), ...feed.events(url) };
        },
        auditLine,
        call: createPageCalls({ url, callers, clients, auditLine, sentFor }),
        play: (order) => (order.service === 'table' ? tables.play(order.name) : tokenService?.play(order)),
        runSchedule: checker.run,
      }),
    );
    return {
      url,
      config,
      pageUrl: page.url,
      /** The services' stand-in. Absent when a configuration defines its own services. */
      tokenServiceUrl: tokenService?.url,
      /** A sentence for each server whose usual port was not available. */
      moved: moved as readonly string[],
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
