import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { expect } from 'vitest';
import type { StoreLimits } from '../../../functions/aws/pair-table/circuit-breaker.ts';
import type { BrokerSettings } from '../../../functions/variables.ts';
import { sealingKeyName, secretName } from '../../../functions/vocabulary.ts';
import { LOCAL_ENVIRONMENT, tableName } from '../../../lib/settings/names.ts';
import { createTables, ensurePairTable } from '../../../local/aws/dynamodb.ts';
import { createSecrets } from '../../../local/aws/secrets-manager.ts';
import { serveAws } from '../../../local/aws/server.ts';
import { startTokenService } from '../../../local/token-service/server.ts';
import { startFaultyEndpoint } from '../aws/faulty-endpoint.ts';
import { ACCESS, exampleRule, exampleService } from '../example.ts';
import { BUNDLE, bundleAsStack } from '../stack/stack-bundle.ts';
import { startProgram } from './program.ts';
import { EXAMPLE_KEY } from './stand-ins.ts';

const SERVICE = 'customer-insights';

interface Options {
  /** A client whose name begins with `wrong` has a credential that the service rejects. */
  readonly clients: readonly string[];
  readonly processes: number;
  readonly lifetimeSeconds: number;
  /** Longer limits let the instances share processors, where time is not what a test is about. */
  readonly storeLimits: StoreLimits;
}

/** Starts processes of instances, and their servers: a DynamoDB that fails on demand, Secrets Manager, the token service. */
export async function startInstanceFleet({ clients, lifetimeSeconds, ...options }: Options) {
  const credentials = clients.map((client) => ({ client, client_id: `${client}-id`, secret: `${client}-secret` }));
  const accepted = credentials.filter(({ client }) => !client.startsWith('wrong'));
  const tokenService = await startTokenService({ credentials: { [SERVICE]: accepted }, lifetimeSeconds });
  const { store, ...secrets } = createSecrets();
  const aws = await serveAws([createTables(), secrets], { keys: [EXAMPLE_KEY] });
  const { url, failWhere, close } = await startFaultyEndpoint(aws.url);
  const table = new DynamoDBClient({ endpoint: aws.url, ...ACCESS });
  await ensurePairTable(table, tableName(LOCAL_ENVIRONMENT));
  table.destroy();
  store.put(sealingKeyName(LOCAL_ENVIRONMENT), btoa('k'.repeat(48)));
  for (const { client, ...credential } of credentials) {
    store.put(secretName(LOCAL_ENVIRONMENT, client), JSON.stringify(credential));
  }

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
    settings: {
      services: { [SERVICE]: exampleService({ authUrl: tokenService.authUrl(SERVICE) }) },
      accessRules: [exampleRule({ clients: 'all', services: 'all' })],
      provenForSeconds: 3_600,
    },
  };
  // Nothing of this machine's AWS set-up is in reach.
  const env = {
    AWS_REGION: ACCESS.region,
    AWS_ACCESS_KEY_ID: ACCESS.credentials.accessKeyId,
    AWS_SECRET_ACCESS_KEY: ACCESS.credentials.secretAccessKey,
    AWS_ENDPOINT_URL_DYNAMODB: url,
    AWS_ENDPOINT_URL_SECRETS_MANAGER: aws.url,
    HOME: '/nonexistent',
  };
  const program = new URL('./instance-process-main.ts', import.meta.url);
  const processes = Array.from({ length: options.processes }, () =>
    startProgram<Order, InstanceAnswer>(program, [JSON.stringify(settings)], { env }),
  );
  return {
    tokenService,
    failWhere,
    /** Asks an instance, by any number, for a token of the client. An instance with a new number is made, and is cold. */
    async ask(instance: number, client: string): Promise<InstanceAnswer> {
      const order = { instance, body: { client, service: SERVICE } };
      return (await processes[instance % processes.length]?.order(order)) ?? expect.fail('no answer');
    },
    async close() {
      await Promise.all(processes.map(({ kill }) => kill()));
      await rm(folder, { recursive: true });
      await Promise.all([close(), tokenService.close(), aws.close()]);
    },
  };
}

export interface Order {
  readonly instance: number;
  /** The body of `POST /token`. */
  readonly body: object;
}

export interface InstanceAnswer {
  readonly body: { readonly type?: string };
  /** From the event to the answer. */
  readonly waitMs: number;
}

/** Shared by every instance of a process. */
export interface ProcessSettings {
  /** The URL of the bundle of `functions/token-function.ts`. */
  readonly code: string;
  readonly environment: string;
  readonly tableName: string;
  readonly settings: BrokerSettings;
  readonly storeLimits: StoreLimits;
}
