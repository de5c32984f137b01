import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { DeleteItemCommand, DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { ensurePairTable } from '../../bin/local/aws/dynamodb.ts';
import { sealingKeyName } from '../../functions/contract.ts';
import type { Fault } from '../support/aws-faults.ts';
import { startFaultyEndpoint } from '../support/dynamodb.ts';
import { type RawServer, startRawServer } from '../support/raw-server.ts';
import { startDynamoDB, startSecretsManager } from '../support/stand-ins.ts';
import { drip, http, type Reply, write } from './hostile-answers.ts';

let dynamodb: Awaited<ReturnType<typeof startDynamoDB>>;
let table: Awaited<ReturnType<typeof startFaultyEndpoint>>;
let secrets: Awaited<ReturnType<typeof startSecretsManager>>;
let service: RawServer;
let reply: Reply;
let direct: DynamoDBClient;

beforeAll(async () => {
  dynamodb = await startDynamoDB();
  table = await startFaultyEndpoint(dynamodb.url);
  secrets = await startSecretsManager();
  service = await startRawServer({ onRequest: (socket) => reply(socket) });
  direct = new DynamoDBClient({ endpoint: dynamodb.url, region: 'us-east-1', credentials: ACCESS });
  await ensurePairTable(direct, 'pairs');
  const version = '11111111-1111-4111-8111-111111111111';
  const client = JSON.stringify({ client_id: 'id', secret: 'secret' });
  secrets.store.create('token-broker/test/acme').versions.add(version, { SecretString: client });
  const key = 'a sealing key for tests, long enough';
  secrets.store.create(sealingKeyName('test')).versions.add(version, { SecretString: key });
});
afterAll(async () => {
  direct.destroy();
  await service.close();
  await secrets.close();
  await table.close();
  await dynamodb.close();
});
beforeEach(async () => {
  await direct.send(new DeleteItemCommand({ TableName: 'pairs', Key: { pair: { S: 'acme/customer-insights' } } }));
  table.failWith(undefined);
  secrets.failWith(undefined);
  reply = write(TOKEN);
});

const TOKEN = http(200, '{"access_token":"token-1","expires_in":3600}');
const SILENT: Reply = () => undefined;
const ACCESS = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'example' };

interface Case {
  readonly dynamodb?: Fault;
  readonly secretsManager?: Fault;
  readonly service?: Reply;
}

it.each<[string, Case, number, number | string, string?]>([
  ['nothing is wrong', {}, 15_000, 200],
  ['DynamoDB is silent', { dynamodb: 'hang' }, 1_000, 'token-endpoint-timeout'],
  ['Secrets Manager stops in its answer', { secretsManager: 'stall' }, 1_000, 'secrets-unavailable'],
  ['the service drips', { service: drip(TOKEN) }, 1_500, 'token-endpoint-timeout'],
  ['all are silent', { dynamodb: 'hang', secretsManager: 'hang', service: SILENT }, 1_000, 'secrets-unavailable'],
  ['all are silent to a check', { dynamodb: 'hang', secretsManager: 'hang' }, 1_000, 'secrets-unavailable', '/check'],
])(
  'the process of a request has nothing left to do after the answer: %s',
  async (_, faults, remainingMs, expected, path = '/token') => {
    table.failWith(faults.dynamodb);
    secrets.failWith(faults.secretsManager);
    if (faults.service !== undefined) reply = faults.service;

    const { answer, exit } = await answerAlone(path, remainingMs);
    expect(answer).toMatchObject({ events: ['answer'], left: [] });
    // On a machine so busy that the last-resort timer answers, the broker knows no better reason.
    expect([expected, ...(remainingMs < 15_000 ? ['token-endpoint-timeout'] : [])]).toContain(
      answer.type ?? answer.status,
    );
    expect(exit).toEqual([0, null]);
  },
);

async function answerAlone(path: string, remainingMs: number) {
  const program = fileURLToPath(new URL('deadline-process.ts', import.meta.url));
  const child = fork(program, [`http://127.0.0.1:${service.port}`, path, String(remainingMs)], {
    env: {
      ...process.env,
      AWS_REGION: 'us-east-1',
      AWS_ACCESS_KEY_ID: ACCESS.accessKeyId,
      AWS_SECRET_ACCESS_KEY: ACCESS.secretAccessKey,
      AWS_ENDPOINT_URL_DYNAMODB: table.url,
      AWS_ENDPOINT_URL_SECRETS_MANAGER: secrets.url,
    },
  });
  const exit = once(child, 'exit');
  const [answer] = await once(child, 'message');
  return { answer, exit: await exit };
}
