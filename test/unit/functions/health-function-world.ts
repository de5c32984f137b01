import { randomUUID } from 'node:crypto';
import { DynamoDBClient, ScanCommand } from '@aws-sdk/client-dynamodb';
import { onTestFinished, vi } from 'vitest';
import { createTokenBroker } from '../../../client/token-broker.ts';
import type { AccessRule } from '../../../functions/broker/authorize.ts';
import type { Message } from '../../../functions/health/rules/messages.ts';
import { createHealthFunction } from '../../../functions/health-function.ts';
import { createTokenFunction } from '../../../functions/token-function.ts';
import { sealingKeyName } from '../../../functions/vocabulary.ts';
import { ensurePairTable } from '../../../local/aws/dynamodb.ts';
import type { LabelUpdate } from '../../../local/aws/secret-store.ts';
import { startFunctionUrl } from '../../../local/function-url/server.ts';
import { startTokenService } from '../../../local/token-service/server.ts';
import documented from '../../contract/recorded-events/secret-label-updated.json' with { type: 'json' };
import { exampleRule, exampleService } from '../../support/example.ts';
import {
  repeatAtOnce,
  startDynamoDB,
  startSecretsManager,
  startSns,
  startSts,
} from '../../support/processes/stand-ins.ts';

/** Credentials of the clients. The services reject `wrong`. */
export const CREDENTIALS = {
  acme: { client_id: 'acme-id', secret: 'marked+acme/secret', services: 'all' },
  renewed: { client_id: 'acme-id-2', secret: 'marked+renewed/secret', services: 'all' },
  wrong: { client_id: 'acme-id', secret: 'marked+wrong/secret', services: 'all' },
};

const roleArn = (name: string) => `arn:aws:iam::111111111111:role/${name}`;
const keyOf = (name: string) => ({
  role: roleArn(name),
  accessKeyId: `AKID${name.toUpperCase()}`,
  secretAccessKey: `marked+${name}/key`,
});
export const HEALTH = keyOf('health');
const BILLING = keyOf('billing');
const PROBE = { ...keyOf('probe'), sessionToken: 'marked+probe/session' };
/** A rule that the probe must never have. */
export const PROBE_RULE = exampleRule({ role: PROBE.role, clients: 'all', services: 'all' });
const TABLE = 'pairs';
const TOPIC = 'arn:aws:sns:us-east-1:111111111111:token-broker-test';

export const VARIABLES = {
  TOKEN_BROKER_ENVIRONMENT: 'test',
  TOKEN_BROKER_URL: 'http://127.0.0.1:1',
  TOKEN_BROKER_TABLE: TABLE,
  TOKEN_BROKER_SERVICES: 'customer-insights other',
  TOKEN_BROKER_SINGLE_TOKEN_SERVICES: '-',
  TOKEN_BROKER_TOPIC: TOPIC,
  TOKEN_BROKER_SUBSCRIBERS: '2',
  TOKEN_BROKER_PROBE_ROLE: PROBE.role,
  TOKEN_BROKER_HEALTH_INTERVAL_SECONDS: '3600',
};
const secretOf = (client: string) => `token-broker/test/${client}`;

/**
 * Starts the health function, a whole broker on loopback, and stand-ins that record requests and can fail. The access
 * rules are added to those of the health role and of `billing`.
 */
export async function startHealthFunctionWorld({
  services = ['customer-insights'],
  accessRules = [] as readonly AccessRule[],
} = {}) {
  repeatAtOnce();
  const messages: Message[] = [];
  const lines: string[] = [];
  const healthLines: string[] = [];
  const events: object[] = [];
  const { wrong: _, ...good } = CREDENTIALS;
  const accepted = Object.values(good).map((credential) => ({ client: 'acme', ...credential }));
  const credentials = Object.fromEntries(services.map((service) => [service, accepted]));
  const tokenService = await startTokenService({ credentials });
  const secretsManager = await startSecretsManager({}, (update) => events.push(eventOf(update)));
  const dynamodb = await startDynamoDB();
  const sns = await startSns(TOPIC, messages, 2);
  const sts = await startSts(PROBE);
  vi.stubEnv('AWS_REGION', 'us-east-1').stubEnv('AWS_ACCESS_KEY_ID', 'AKIDEXAMPLE');
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'example');
  const urls = { SECRETS_MANAGER: secretsManager, DYNAMODB: dynamodb, SNS: sns, STS: sts };
  for (const [name, { url }] of Object.entries(urls)) vi.stubEnv(`AWS_ENDPOINT_URL_${name}`, url);
  const table = new DynamoDBClient();
  await ensurePairTable(table, TABLE);
  secretsManager.store.put(sealingKeyName('test'), btoa('k'.repeat(48)));

  // Long enough for a busy machine.
  const times = { attemptTimeoutMs: 6_000, requestTimeoutMs: 6_000 };
  const serviceOf = (name: string) => exampleService({ authUrl: tokenService.authUrl(name), ...times });
  const { handler: answer, readFirst } = createTokenFunction({
    environment: 'test',
    tableName: TABLE,
    settings: {
      services: Object.fromEntries(services.map((name) => [name, serviceOf(name)])),
      accessRules: [exampleRule({ services: 'all' }), ...accessRules],
      provenForSeconds: 3_600,
    },
    checkerRoles: [HEALTH.role],
    storeLimits: { timeoutMs: 6_000 },
    write: (line) => lines.push(line),
  });
  // As an instance does before its first call. A busy machine may take its time.
  await readFirst(times.requestTimeoutMs);
  const broker = await startFunctionUrl({ handler: answer, callers: [HEALTH, BILLING, PROBE], port: 0 });
  onTestFinished(async () => {
    table.destroy();
    await Promise.all([broker, tokenService, secretsManager, dynamodb, sns, sts].map(({ close }) => close()));
    vi.unstubAllEnvs();
  });

  const handler = createHealthFunction(
    { ...VARIABLES, TOKEN_BROKER_URL: broker.url, TOKEN_BROKER_SERVICES: services.join(' ') },
    { credentials: HEALTH, write: (line) => healthLines.push(line), sleep: async () => undefined },
  );

  return {
    ...{ broker, tokenService, secretsManager, dynamodb, sns, sts },
    /** The messages to the operators, and the lines of the broker and the health function. */
    ...{ messages, lines, healthLines },
    /** Asks for tokens as the role `billing`. */
    caller: createTokenBroker({ url: broker.url, credentials: BILLING, cache: false }),
    /** Returns the result of a run, its last line, and the subjects of its messages. */
    run: async (remainingMs = 60_000) => {
      const sent = messages.length;
      const result = await handler({}, { getRemainingTimeInMillis: () => remainingMs });
      if (result === undefined) throw new TypeError('the event led to no run');
      const line = JSON.parse(healthLines.at(-1) ?? '{}');
      return { ...result, line, subjects: messages.slice(sent).map(({ subject = '' }) => subject) };
    },
    deliver: (event: unknown) => handler(event, { getRemainingTimeInMillis: () => 60_000 }),
    /** Stores a first credential. Returns the event that reports it. */
    store: (client: string, credential: object, services?: string) => {
      const Tags = services === undefined ? [] : [{ Key: 'services', Value: services }];
      const versionId = randomUUID();
      const { name, arn, versions } = secretsManager.store.create(secretOf(client), { Tags });
      versions.add(versionId, { SecretString: JSON.stringify(credential) });
      return eventOf({ name, arn, versionId, label: 'AWSCURRENT' });
    },
    /** Puts another credential into use. Returns the event that Secrets Manager sent. */
    replace: (client: string, credential: object) => {
      const SecretString = JSON.stringify(credential);
      secretsManager.store.get(secretOf(client)).versions.add(randomUUID(), { SecretString });
      return events.at(-1);
    },
    items: async () => (await table.send(new ScanCommand({ TableName: TABLE }))).Items ?? [],
  };
}

/** An event as AWS sends it. */
export function eventOf({ name, arn, versionId, label }: LabelUpdate) {
  return { ...documented, resources: [arn], detail: { name, labelUpdated: label, versionId } };
}
