import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { CreateSecretCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import type { StoreLimits } from '../../../functions/aws/pair-table/circuit-breaker.ts';
import type { BrokerSettings } from '../../../functions/variables.ts';
import { sealingKeyName, secretName } from '../../../functions/vocabulary.ts';
import { LOCAL_ENVIRONMENT, tableName } from '../../../lib/settings/names.ts';
import { ensurePairTable } from '../../../local/aws/dynamodb.ts';
import { startTokenService } from '../../../local/token-service/server.ts';
import { startFaultyEndpoint } from '../aws/faulty-endpoint.ts';
import { ACCESS, exampleRule, exampleService } from '../example.ts';
import { BUNDLE, bundleAsStack } from '../stack/stack-bundle.ts';
import { startProgram } from './program.ts';

export const SERVICE = 'customer-insights';

interface Options {
  /** A client whose name begins with `wrong` has a credential that the service rejects. */
  readonly clients: readonly string[];
  readonly processes: number;
  /** How many times slower the instances' clock is. */
  readonly slowness: number;
  readonly lifetimeSeconds?: number;
  /** Longer limits let the instances share processors, where time is not what a test is about. */
  readonly storeLimits?: StoreLimits;
  /** The instances reach DynamoDB through an endpoint that fails on demand. */
  readonly isFaulty?: boolean;
}

/** Starts processes of instances, and their servers on this machine: DynamoDB, Secrets Manager and the token service. */
export async function startInstanceFleet({ clients, slowness, lifetimeSeconds = 3_600, ...options }: Options) {
  const credentials = clients.map((client) => ({ client, client_id: `${client}-id`, secret: `${client}-secret` }));
  const accepted = credentials.filter(({ client }) => !client.startsWith('wrong'));
  const tokenService = await startTokenService({ credentials: { [SERVICE]: accepted }, lifetimeSeconds });
  // In a process of its own, so that a burst of calls to it shares no processor with others.
  const aws = startProgram<undefined, string>(new URL('./stand-in-process-main.ts', import.meta.url), []);
  const endpoint = await aws.order(undefined);
  const { url, failWith, failWhere, close } = await startFaultyEndpoint(endpoint);
  const table = new DynamoDBClient({ endpoint, ...ACCESS });
  await ensurePairTable(table, tableName(LOCAL_ENVIRONMENT));
  table.destroy();
  const secrets = new SecretsManagerClient({ endpoint, ...ACCESS });
  const key = { Name: sealingKeyName(LOCAL_ENVIRONMENT), SecretString: btoa('k'.repeat(48)) };
  await secrets.send(new CreateSecretCommand(key));
  for (const { client, ...credential } of credentials) {
    const Name = secretName(LOCAL_ENVIRONMENT, client);
    await secrets.send(new CreateSecretCommand({ Name, SecretString: JSON.stringify(credential) }));
  }
  secrets.destroy();

  // As it runs in Lambda: a client and its first call take half as long as from the sources.
  const { outputFiles } = await bundleAsStack(
    fileURLToPath(new URL('../../../functions/token-function.ts', import.meta.url)),
  );
  const folder = await mkdtemp(path.join(tmpdir(), 'token-broker-fleet-'));
  await writeFile(path.join(folder, BUNDLE), outputFiles[0]?.contents ?? '');
  const settings: ProcessSettings = {
    code: pathToFileURL(path.join(folder, BUNDLE)).href,
    environment: LOCAL_ENVIRONMENT,
    tableName: tableName(LOCAL_ENVIRONMENT),
    storeLimits: options.storeLimits,
    slowMotion: { factor: slowness, since: Date.now() },
    settings: {
      services: { [SERVICE]: exampleService({ authUrl: tokenService.authUrl(SERVICE) }) },
      accessRules: [exampleRule({ clients: 'all', services: 'all' })],
      provenForSeconds: 3_600,
    },
  };
  const variables = {
    AWS_REGION: ACCESS.region,
    AWS_ACCESS_KEY_ID: ACCESS.credentials.accessKeyId,
    AWS_SECRET_ACCESS_KEY: ACCESS.credentials.secretAccessKey,
    AWS_ENDPOINT_URL_DYNAMODB: options.isFaulty ? url : endpoint,
    AWS_ENDPOINT_URL_SECRETS_MANAGER: endpoint,
    HOME: '/nonexistent',
  };
  const processes = Array.from({ length: options.processes }, () => startProcess(settings, variables));
  return {
    tokenService,
    processes,
    failWith,
    failWhere,
    /** Asks an instance for a token of the client. */
    async ask(instance: number, client: string, more: object = {}): Promise<InstanceAnswer> {
      const order = { instances: [instance], body: { client, service: SERVICE, ...more } };
      const [answer] = (await processes[instance % processes.length]?.order(order)) ?? [];
      if (answer === undefined) throw new Error('no answer');
      return answer;
    },
    async close() {
      await Promise.all(processes.map(({ kill }) => kill()));
      await rm(folder, { recursive: true });
      await Promise.all([close(), tokenService.close(), aws.kill()]);
    },
  };
}

/** A process that hosts instances: brokers that share the data in AWS and nothing else. */
export type InstanceProcess = ReturnType<typeof startProcess>;

export interface Order {
  /** Which instances, by any numbers; one with a new number is made, and is cold. */
  readonly instances: readonly number[];
  /** The body of `POST /token` that each of them gets, all at once; without it, none is asked. */
  readonly body?: object;
  /** When they are asked, in epoch milliseconds of this machine, however slow the process is. */
  readonly at?: number;
}

export interface InstanceAnswer {
  readonly status: number;
  readonly body: { readonly access_token?: string; readonly fingerprint?: string; readonly type?: string };
  /** From the event to the answer, in the time of the process. */
  readonly waitMs: number;
}

/** Shared by every instance of a process. */
export interface ProcessSettings {
  /** The URL of the bundle of `functions/token-function.ts`. */
  readonly code: string;
  readonly environment: string;
  readonly tableName: string;
  readonly settings: BrokerSettings;
  readonly storeLimits?: StoreLimits | undefined;
  /** See `slowDown`. */
  readonly slowMotion: { readonly factor: number; readonly since: number };
}

/** Starts a process with these variables and nothing of this machine's AWS set-up in reach. */
function startProcess(settings: ProcessSettings, env: Readonly<Record<string, string>>) {
  const program = new URL('./instance-process-main.ts', import.meta.url);
  return startProgram<Order, readonly InstanceAnswer[]>(program, [JSON.stringify(settings)], { env });
}
