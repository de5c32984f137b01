import {
  CreateSecretCommand,
  PutSecretValueCommand,
  type PutSecretValueCommandInput,
  type Tag,
} from '@aws-sdk/client-secrets-manager';
import { onTestFinished, vi } from 'vitest';
import { ensurePairTable, ensureSealingKey } from '../../../bin/local/aws/dynamodb.ts';
import type { LabelUpdate } from '../../../bin/local/aws/secret-store.ts';
import type { PublishedMessage } from '../../../bin/local/aws/sns-sts.ts';
import { startFunctionUrl } from '../../../bin/local/function-url/server.ts';
import { startTokenService } from '../../../bin/local/token-service/server.ts';
import { createTokenBroker } from '../../../client/token-broker.ts';
import { createDynamoDBClient, createSecretsManagerClient } from '../../../functions/aws/clients.ts';
import { createHealthFunction } from '../../../functions/health-function.ts';
import { createTokenFunction } from '../../../functions/token-function.ts';
import { exampleRule, exampleService } from '../../support/example.ts';
import { startDynamoDB, startSecretsManager, startSns } from '../../support/stand-ins.ts';

export const SERVICES = ['customer-insights', 'merchant-payment-cleansing'] as const;

/** What is stored of `acme` at first, what the services accept besides, and what they do not. */
export const OLD = { client_id: 'acme-id', secret: 'marked-old-secret' };
export const NEW = { client_id: 'acme-id-2', secret: 'marked-new-secret' };
export const WRONG = { client_id: 'acme-id', secret: 'marked-wrong-secret' };

const HEALTH = { role: roleArn('health'), accessKeyId: 'AKIDHEALTH', secretAccessKey: 'health-key' };
const BILLING = { role: roleArn('billing'), accessKeyId: 'AKIDBILLING', secretAccessKey: 'billing-key' };
const ENVIRONMENT = 'test';
const SECRET = `token-broker/${ENVIRONMENT}/acme`;
const TABLE = 'pairs';
const TOPIC = 'arn:aws:sns:us-east-1:111111111111:token-broker-test';

/** The health function upon events, a whole broker on loopback, and everything around the two that can be seen or go wrong. */
export async function startSecretEventWorld() {
  const events: object[] = [];
  const lines: string[] = [];
  const checks: number[] = [];
  const messages: PublishedMessage[] = [];
  const accepted = [OLD, NEW].map((credential) => ({ client: 'acme', ...credential }));
  const tokenService = await startTokenService({
    credentials: Object.fromEntries(SERVICES.map((service) => [service, accepted])),
  });
  const secretsManager = await startSecretsManager({ onLabelUpdated: (update) => events.push(eventOf(update)) });
  const dynamodb = await startDynamoDB();
  const sns = await startSns({ topicArn: TOPIC, onMessage: (message) => messages.push(message) });
  stubVariables({
    AWS_REGION: 'us-east-1',
    AWS_ACCESS_KEY_ID: 'AKIDEXAMPLE',
    AWS_SECRET_ACCESS_KEY: 'example',
    AWS_ENDPOINT_URL_SECRETS_MANAGER: secretsManager.url,
    AWS_ENDPOINT_URL_DYNAMODB: dynamodb.url,
    AWS_ENDPOINT_URL_SNS: sns.url,
  });
  const secrets = createSecretsManagerClient();
  await ensurePairTable(createDynamoDBClient(), TABLE);
  await ensureSealingKey(secrets, ENVIRONMENT);

  const broker = await startFunctionUrl({
    handler: createTokenFunction({
      environment: ENVIRONMENT,
      tableName: TABLE,
      settings: {
        services: Object.fromEntries(
          SERVICES.map((service) => [service, exampleService({ authUrl: tokenService.authUrl(service) })]),
        ),
        accessRules: [exampleRule({ services: 'all' })],
        provenForSeconds: 3_600,
      },
      checkerRoles: [HEALTH.role],
      write: (line) => lines.push(line),
    }).handler,
    callers: [HEALTH, BILLING],
    port: 0,
    onAnswer: ({ path, status }) => path === '/check' && checks.push(status),
  });
  onTestFinished(async () => {
    await Promise.all([broker, tokenService, secretsManager, dynamodb, sns].map(({ close }) => close()));
    vi.unstubAllEnvs();
  });

  const handler = createHealthFunction({
    environment: ENVIRONMENT,
    url: broker.url,
    tableName: TABLE,
    services: SERVICES,
    singleTokenServices: [],
    topicArn: TOPIC,
    probeRoleArn: roleArn('probe'),
    intervalSeconds: 3_600,
    credentials: HEALTH,
    write: (line) => lines.push(line),
    sleep: async () => undefined,
  });

  return {
    tokenService,
    sns,
    /** What the operators were told. */
    messages,
    broker,
    secrets,
    store: secretsManager.store,
    /** Every line that either function has written. */
    lines,
    /** The status of every answer to a check. */
    checks,
    deliver: (event: unknown) => handler(event, { getRemainingTimeInMillis: () => 60_000 }),
    /** Asks for tokens as the role `billing`. */
    caller: createTokenBroker({ url: broker.url, credentials: BILLING, cache: false }),
    /** Stores a first credential; gives the event that would tell of it. */
    create: async (credential: object, Tags: Tag[] = []) => {
      const SecretString = JSON.stringify(credential);
      const created = await secrets.send(new CreateSecretCommand({ Name: SECRET, SecretString, Tags }));
      return eventOf({ name: SECRET, arn: `${created.ARN}`, versionId: `${created.VersionId}`, label: 'AWSCURRENT' });
    },
    /** Puts another credential into use; gives the event that Secrets Manager sent. */
    promote: async (credential: object, options: Partial<PutSecretValueCommandInput> = {}) => {
      const SecretString = JSON.stringify(credential);
      await secrets.send(new PutSecretValueCommand({ SecretId: SECRET, SecretString, ...options }));
      return events.at(-1);
    },
  };
}

/** As it is sent by AWS. */
export function eventOf({ name, arn, versionId, label }: LabelUpdate) {
  return {
    version: '0',
    id: '6a7e8feb-b491-4cf7-a9f1-bf3703467718',
    'detail-type': 'Secret Label Updated',
    source: 'aws.secretsmanager',
    account: '111111111111',
    time: '2026-01-01T00:00:00Z',
    region: 'us-east-1',
    resources: [arn],
    detail: { name, labelUpdated: label, versionId },
  };
}

function stubVariables(variables: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(variables)) vi.stubEnv(name, value);
}

function roleArn(name: string): string {
  return `arn:aws:iam::111111111111:role/${name}`;
}
