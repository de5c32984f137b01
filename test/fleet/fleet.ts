import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { CreateSecretCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { ensurePairTable } from '../../bin/local/aws/dynamodb.ts';
import { startTokenService } from '../../bin/local/token-service/server.ts';
import { sealingKeyName } from '../../functions/contract.ts';
import { exampleRule, exampleService } from '../support/example.ts';
import {
  type InstanceAnswer,
  type InstanceProcess,
  startInstanceProcess,
} from '../support/processes/instance-process.ts';
import { startStandInProcess } from '../support/processes/stand-in-process.ts';
import { BUNDLE, bundleAsStack } from '../support/stack-bundle.ts';

const SERVICE = 'customer-insights';
const TABLE = 'pairs';

interface Options {
  /** Whose credentials exist, and are accepted by the service. */
  readonly clients: readonly string[];
  /** How many times slower the instances are than this machine. */
  readonly slowness: number;
}

export type Fleet = Awaited<ReturnType<typeof startFleet>>;

/** The servers of a fleet, all on this machine: DynamoDB, Secrets Manager and the token service. */
export async function startFleet({ clients, slowness }: Options) {
  const credentials = clients.map((client) => ({ client, client_id: `${client}-id`, secret: `${client}-secret` }));
  const tokenService = await startTokenService({ credentials: { [SERVICE]: credentials }, lifetimeSeconds: 3_600 });
  const dynamodb = await startStandInProcess('dynamodb');
  const secretsManager = await startStandInProcess('secrets-manager');
  const dynamodbClient = new DynamoDBClient({ endpoint: dynamodb.url, ...ACCESS });
  const secretsClient = new SecretsManagerClient({ endpoint: secretsManager.url, ...ACCESS });
  await ensurePairTable(dynamodbClient, TABLE);
  const key = { Name: sealingKeyName(ENVIRONMENT), SecretString: btoa('k'.repeat(48)) };
  await secretsClient.send(new CreateSecretCommand(key));
  for (const { client, ...credential } of credentials) {
    const Name = `token-broker/${ENVIRONMENT}/${client}`;
    await secretsClient.send(new CreateSecretCommand({ Name, SecretString: JSON.stringify(credential) }));
  }
  secretsClient.destroy();
  dynamodbClient.destroy();

  // As it runs in Lambda: a client and its first call take half as long as from the sources.
  const { outputFiles } = await bundleAsStack(ENTRY);
  const folder = await mkdtemp(path.join(tmpdir(), 'token-broker-fleet-'));
  await writeFile(path.join(folder, BUNDLE), outputFiles[0]?.contents ?? '');
  const accessRule = exampleRule({ clients: 'all', services: 'all' });
  const settings = {
    code: pathToFileURL(path.join(folder, BUNDLE)).href,
    environment: ENVIRONMENT,
    tableName: TABLE,
    role: accessRule.role,
    slowMotion: { factor: slowness, since: Date.now() },
    settings: {
      services: { [SERVICE]: exampleService({ authUrl: tokenService.authUrl(SERVICE) }) },
      accessRules: [accessRule],
      provenForSeconds: 3_600,
    },
  };
  const started: InstanceProcess[] = [];

  return {
    tokenService,
    /** How many token requests the service has got for this client. */
    requestsOf: (of: string) => tokenService.requests.filter(({ client }) => client === of).length,
    /** Starts a process whose instances find everything here. */
    startProcess(): InstanceProcess {
      const own = startInstanceProcess(settings, {
        AWS_REGION: ACCESS.region,
        AWS_ACCESS_KEY_ID: ACCESS.credentials.accessKeyId,
        AWS_SECRET_ACCESS_KEY: ACCESS.credentials.secretAccessKey,
        AWS_ENDPOINT_URL_DYNAMODB: dynamodb.url,
        AWS_ENDPOINT_URL_SECRETS_MANAGER: secretsManager.url,
        HOME: '/nonexistent',
      });
      started.push(own);
      return own;
    },
    async close() {
      await Promise.all(started.map(({ kill }) => kill()));
      await rm(folder, { recursive: true });
      await Promise.all([tokenService.close(), secretsManager.close(), dynamodb.close()]);
    },
  };
}

/** The named instances of every process ask for the client's token at the same instant. */
export async function askAtOnce(
  processes: readonly InstanceProcess[],
  instances: readonly number[],
  client: string,
): Promise<readonly InstanceAnswer[]> {
  const body = { client, service: SERVICE };
  await Promise.all(processes.map(({ order }) => order({ instances })));
  const at = Date.now() + 50;
  const reports = await Promise.all(processes.map(({ order }) => order({ instances, body, at })));
  return reports.flatMap(({ answers }) => answers);
}

const ENVIRONMENT = 'fleet';
const ACCESS = { region: 'us-east-1', credentials: { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'example' } };
const ENTRY = fileURLToPath(new URL('../../functions/token-function.ts', import.meta.url));
