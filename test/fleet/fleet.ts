import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { CreateSecretCommand } from '@aws-sdk/client-secrets-manager';
import { ensurePairTable } from '../../bin/local/aws/dynamodb.ts';
import { startTokenService } from '../../bin/local/token-service/server.ts';
import { createSecretsManagerClient } from '../../functions/aws/secrets-manager.ts';
import { sealingKeyName } from '../../functions/contract.ts';
import {
  type EnvironmentAnswer,
  type EnvironmentProcess,
  type Report,
  startEnvironmentProcess,
} from '../support/environment-process.ts';
import { exampleRule, exampleService } from '../support/example.ts';
import { startStandInProcess } from '../support/stand-in-process.ts';
import { bundleTokenFunction } from './token-function-bundle.ts';

export const SERVICE = 'customer-insights';
export const TABLE = 'pairs';

interface Options {
  /** Whose credentials exist, and are accepted by the service. */
  readonly clients: readonly string[];
  readonly lifetimeSeconds?: number;
  /** How many times slower the environments are than this machine. */
  readonly slowness?: number;
}

export type Fleet = Awaited<ReturnType<typeof startFleet>>;

/** What the processes of a fleet share, all on this machine: DynamoDB, Secrets Manager and the token service. */
export async function startFleet({ clients, lifetimeSeconds = 3_600, slowness = 1 }: Options) {
  const credentials = clients.map((client) => ({ client, client_id: `${client}-id`, secret: `${client}-secret` }));
  const tokenService = await startTokenService({
    credentials: { [SERVICE]: credentials },
    lifetimeSeconds,
  });
  const dynamodb = await startStandInProcess('dynamodb');
  const secretsManager = await startStandInProcess('secrets-manager');
  const dynamodbClient = new DynamoDBClient({ endpoint: dynamodb.url, ...ACCESS });
  const secretsClient = createSecretsManagerClient({ endpoint: secretsManager.url, ...ACCESS });
  await ensurePairTable(dynamodbClient, TABLE);
  const key = { Name: sealingKeyName(ENVIRONMENT), SecretString: btoa('k'.repeat(48)) };
  await secretsClient.send(new CreateSecretCommand(key));
  for (const { client, ...credential } of credentials) {
    const Name = `token-broker/${ENVIRONMENT}/${client}`;
    await secretsClient.send(new CreateSecretCommand({ Name, SecretString: JSON.stringify(credential) }));
  }
  secretsClient.destroy();

  const bundle = await bundleTokenFunction();
  const accessRule = exampleRule({ clients: 'all', services: 'all' });
  const settings = {
    code: bundle.url,
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
  const started: EnvironmentProcess[] = [];

  return {
    tokenService,
    dynamodbClient,
    /** Starts a process whose environments find everything here. */
    startProcess(): EnvironmentProcess {
      const own = startEnvironmentProcess(settings, {
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
      dynamodbClient.destroy();
      await bundle.remove();
      await Promise.all([tokenService.close(), secretsManager.close(), dynamodb.close()]);
    },
  };
}

/** The named environments of every process ask for the client's token at the same instant. */
export async function askAtOnce(
  processes: readonly EnvironmentProcess[],
  environments: readonly number[],
  client: string,
): Promise<readonly Report[]> {
  const body = { client, service: SERVICE };
  await Promise.all(processes.map(({ order }) => order({ environments })));
  const at = Date.now() + 50;
  return Promise.all(processes.map(({ order }) => order({ environments, body, at })));
}

/** One environment asks. */
export async function ask(
  { order }: EnvironmentProcess,
  environment: number,
  { client }: { readonly client: string },
): Promise<EnvironmentAnswer> {
  const { answers } = await order({ environments: [environment], body: { client, service: SERVICE } });
  const [answer] = answers;
  if (answer === undefined) throw new Error('the process has ended');
  return answer;
}

/** How long callers waited, in one line of the test output. */
export function describeWaits(answers: readonly EnvironmentAnswer[]): string {
  const waits = answers.map(({ waitMs }) => Math.round(waitMs)).sort((a, b) => a - b);
  const quantile = (share: number) => waits[Math.ceil(waits.length * share) - 1];
  return `waits of ${waits.length}: p50 ${quantile(0.5)} ms, p99 ${quantile(0.99)} ms, max ${quantile(1)} ms`;
}

/** Measured, not asserted: times on a shared machine are for people. */
export function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

const ENVIRONMENT = 'fleet';

const ACCESS = { region: 'us-east-1', credentials: { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'example' } };
