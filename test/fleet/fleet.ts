import { CreateSecretCommand } from '@aws-sdk/client-secrets-manager';
import { ensurePairTable, ensureSealingKey } from '../../bin/local/aws/dynamodb.ts';
import { startTokenService } from '../../bin/local/token-service/server.ts';
import { createDynamoDBClient, createSecretsManagerClient } from '../../functions/aws/clients.ts';
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
export const OTHER_SERVICE = 'merchant-payment-cleansing';
export const TABLE = 'pairs';

interface Options {
  /** Whose credentials exist, and are accepted by both services. */
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
    credentials: { [SERVICE]: credentials, [OTHER_SERVICE]: credentials },
    lifetimeSeconds,
  });
  const dynamodb = await startStandInProcess('dynamodb');
  const secretsManager = await startStandInProcess('secrets-manager');
  const dynamodbClient = createDynamoDBClient({ endpoint: dynamodb.url, ...ACCESS });
  const secretsClient = createSecretsManagerClient({ endpoint: secretsManager.url, ...ACCESS });
  const storeSecret = async (client: string, SecretString: string) => {
    await secretsClient.send(new CreateSecretCommand({ Name: `token-broker/${ENVIRONMENT}/${client}`, SecretString }));
  };

  await ensurePairTable(dynamodbClient, TABLE);
  await ensureSealingKey(secretsClient, ENVIRONMENT);
  for (const { client, ...credential } of credentials) await storeSecret(client, JSON.stringify(credential));

  const bundle = await bundleTokenFunction();
  const accessRule = exampleRule({ clients: 'all', services: 'all' });
  const settings = {
    code: bundle.url,
    environment: ENVIRONMENT,
    tableName: TABLE,
    role: accessRule.role,
    slowMotion: { factor: slowness, since: Date.now() },
    settings: {
      services: Object.fromEntries(
        [SERVICE, OTHER_SERVICE].map((name) => [name, exampleService({ authUrl: tokenService.authUrl(name) })]),
      ),
      accessRules: [accessRule],
      provenForSeconds: 3_600,
    },
  };
  const started: EnvironmentProcess[] = [];

  return {
    tokenService,
    dynamodb,
    secretsManager,
    dynamodbClient,
    secretsClient,
    storeSecret,
    /** Starts a process whose environments find everything here, unless the variables say otherwise. */
    startProcess(variables: Readonly<Record<string, string>> = {}): EnvironmentProcess {
      const own = startEnvironmentProcess(settings, {
        AWS_REGION: ACCESS.region,
        AWS_ACCESS_KEY_ID: ACCESS.credentials.accessKeyId,
        AWS_SECRET_ACCESS_KEY: ACCESS.credentials.secretAccessKey,
        AWS_ENDPOINT_URL_DYNAMODB: dynamodb.url,
        AWS_ENDPOINT_URL_SECRETS_MANAGER: secretsManager.url,
        HOME: '/nonexistent',
        ...variables,
      });
      started.push(own);
      return own;
    },
    async close() {
      await Promise.all(started.map(({ kill }) => kill()));
      dynamodbClient.destroy();
      secretsClient.destroy();
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
  body: { readonly client: string; readonly service?: string },
): Promise<EnvironmentAnswer> {
  const { answers } = await order({ environments: [environment], body: { service: SERVICE, ...body } });
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
