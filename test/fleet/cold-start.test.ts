import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { CreateSecretCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ensurePairTable } from '../../bin/local/aws/dynamodb.ts';
import { startTokenService } from '../../bin/local/token-service/server.ts';
import { sealingKeyName } from '../../functions/vocabulary.ts';
import { ACCESS, exampleRule, exampleService } from '../support/example.ts';
import { describeWaits } from '../support/fleet/load.ts';
import { type InstanceProcess, startInstanceProcess } from '../support/processes/instance-process.ts';
import { startStandInProcess } from '../support/processes/stand-in-process.ts';
import { BUNDLE, bundleAsStack } from '../support/stack/stack-bundle.ts';

/** Slows the story down so that 200 machines fit into any one, even a busy one, see docs/pair.md. */
const SLOWNESS = 10;
/** How long the token service takes, in the time of the instances. */
const SERVICE_MS = 150;
const PROCESSES = 8;
/** In each process: 200 of them in all. */
const INSTANCES = 25;
const CLIENTS = ['warm-up', 'acme'];
const SERVICE = 'customer-insights';
const ENVIRONMENT = 'fleet';

let fleet: Awaited<ReturnType<typeof startFleet>>;
beforeAll(async () => {
  fleet = await startFleet();
  // Cold is an instance, not the compiler of its process: in Lambda each of them has a machine of its own.
  for (const each of fleet.processes) await askAtOnce([each], [0], 'warm-up');
  for (let instance = 1; instance < INSTANCES; instance += 1) await askAtOnce(fleet.processes, [instance], 'warm-up');
  fleet.tokenService.behave(undefined, { latencyMs: SERVICE_MS * SLOWNESS });
});
afterAll(() => fleet.close());

it('200 cold instances that ask at the same instant make one token request', async () => {
  const instances = Array.from({ length: INSTANCES }, (_, index) => 100 + index);
  const answers = await askAtOnce(fleet.processes, instances, 'acme');
  // Measured, not asserted: times on a shared machine are for people.
  process.stdout.write(`${describeWaits(answers.map(({ waitMs }) => waitMs))} (goal: p99 ${SERVICE_MS + 250} ms)\n`);

  expect(fleet.tokenService.requests.filter((request) => request.client === 'acme')).toHaveLength(1);
  expect(answers.map(({ status }) => status)).toEqual(Array(200).fill(200));
  expect(new Set(answers.map(({ body }) => body.access_token)).size).toBe(1);
});

/** Processes of instances, and their servers on this machine: DynamoDB, Secrets Manager and the token service. */
async function startFleet() {
  const credentials = CLIENTS.map((client) => ({ client, client_id: `${client}-id`, secret: `${client}-secret` }));
  const tokenService = await startTokenService({ credentials: { [SERVICE]: credentials }, lifetimeSeconds: 3_600 });
  const dynamodb = await startStandInProcess('dynamodb');
  const secretsManager = await startStandInProcess('secrets-manager');
  const table = new DynamoDBClient({ endpoint: dynamodb.url, ...ACCESS });
  await ensurePairTable(table, 'pairs');
  table.destroy();
  const secrets = new SecretsManagerClient({ endpoint: secretsManager.url, ...ACCESS });
  const key = { Name: sealingKeyName(ENVIRONMENT), SecretString: btoa('k'.repeat(48)) };
  await secrets.send(new CreateSecretCommand(key));
  for (const { client, ...credential } of credentials) {
    const Name = `token-broker/${ENVIRONMENT}/${client}`;
    await secrets.send(new CreateSecretCommand({ Name, SecretString: JSON.stringify(credential) }));
  }
  secrets.destroy();

  // As it runs in Lambda: a client and its first call take half as long as from the sources.
  const { outputFiles } = await bundleAsStack(
    fileURLToPath(new URL('../../functions/token-function.ts', import.meta.url)),
  );
  const folder = await mkdtemp(path.join(tmpdir(), 'token-broker-fleet-'));
  await writeFile(path.join(folder, BUNDLE), outputFiles[0]?.contents ?? '');
  const accessRule = exampleRule({ clients: 'all', services: 'all' });
  const settings = {
    code: pathToFileURL(path.join(folder, BUNDLE)).href,
    environment: ENVIRONMENT,
    tableName: 'pairs',
    role: accessRule.role,
    slowMotion: { factor: SLOWNESS, since: Date.now() },
    settings: {
      services: { [SERVICE]: exampleService({ authUrl: tokenService.authUrl(SERVICE) }) },
      accessRules: [accessRule],
      provenForSeconds: 3_600,
    },
  };
  const variables = {
    AWS_REGION: ACCESS.region,
    AWS_ACCESS_KEY_ID: ACCESS.credentials.accessKeyId,
    AWS_SECRET_ACCESS_KEY: ACCESS.credentials.secretAccessKey,
    AWS_ENDPOINT_URL_DYNAMODB: dynamodb.url,
    AWS_ENDPOINT_URL_SECRETS_MANAGER: secretsManager.url,
    HOME: '/nonexistent',
  };
  const processes = Array.from({ length: PROCESSES }, () => startInstanceProcess(settings, variables));
  return {
    tokenService,
    processes,
    async close() {
      await Promise.all(processes.map(({ kill }) => kill()));
      await rm(folder, { recursive: true });
      await Promise.all([tokenService.close(), secretsManager.close(), dynamodb.close()]);
    },
  };
}

/** The named instances of every process ask for the client's token at the same instant. */
async function askAtOnce(processes: readonly InstanceProcess[], instances: readonly number[], client: string) {
  const body = { client, service: SERVICE };
  await Promise.all(processes.map(({ order }) => order({ instances })));
  const at = Date.now() + 50;
  const answers = await Promise.all(processes.map(({ order }) => order({ instances, body, at })));
  return answers.flat();
}
