import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ensurePairTable } from '../../../bin/local/aws/dynamodb.ts';
import { sealingKeyName } from '../../../functions/vocabulary.ts';
import type { Fault } from '../../support/aws/aws-faults.ts';
import { startFaultyEndpoint } from '../../support/aws/faulty-endpoint.ts';
import { ACCESS } from '../../support/example.ts';
import { startDynamoDB, startSecretsManager } from '../../support/processes/stand-ins.ts';
import { type RawServer, startRawServer } from '../../support/services/raw-server.ts';
import { drip, http, type Reply, write } from '../hostile-answers.ts';

let dynamodb: Awaited<ReturnType<typeof startDynamoDB>>;
let table: Awaited<ReturnType<typeof startFaultyEndpoint>>;
let secrets: Awaited<ReturnType<typeof startSecretsManager>>;
let service: RawServer;
let reply: Reply;
let clients = 0;

beforeAll(async () => {
  dynamodb = await startDynamoDB();
  table = await startFaultyEndpoint(dynamodb.url);
  secrets = await startSecretsManager();
  service = await startRawServer({ onRequest: (socket) => reply(socket) });
  const direct = new DynamoDBClient({ endpoint: dynamodb.url, ...ACCESS });
  await ensurePairTable(direct, 'pairs');
  direct.destroy();
  const key = 'a sealing key for tests, long enough';
  secrets.store.create(sealingKeyName('test')).versions.add(VERSION, { SecretString: key });
});
afterAll(async () => {
  await service.close();
  await secrets.close();
  await table.close();
  await dynamodb.close();
});
const TOKEN = http(200, '{"access_token":"token-1","expires_in":3600}');
const SILENT: Reply = () => undefined;
/** The same problem also on a machine so busy that the last-resort timer answers. */
const TIMEOUT = 'token-endpoint-timeout';
const VERSION = '11111111-1111-4111-8111-111111111111';

it.each<[string, Fault | undefined, Fault | undefined, Reply, number, readonly (number | string)[], string?]>([
  ['nothing is wrong', undefined, undefined, write(TOKEN), 15_000, [200]],
  ['Secrets Manager stops in its answer', undefined, 'stall', write(TOKEN), 1_000, [TIMEOUT, 'secrets-unavailable']],
  ['the service drips', undefined, undefined, drip(TOKEN), 1_500, [TIMEOUT]],
  ['all are silent to a check', 'hang', 'hang', SILENT, 1_000, [TIMEOUT, 'secrets-unavailable'], '/check'],
])(
  'the process of a request has nothing left to do after the answer: %s',
  async (_, ofDynamoDB, ofSecrets, ofService, remainingMs, expected, path = '/token') => {
    const client = `client-${++clients}`;
    const SecretString = JSON.stringify({ client_id: 'id', secret: 'secret', services: 'all' });
    secrets.store.create(`token-broker/test/${client}`).versions.add(VERSION, { SecretString });
    table.failWith(ofDynamoDB);
    secrets.failWith(ofSecrets);
    reply = ofService;
    const program = fileURLToPath(new URL('process.ts', import.meta.url));
    const child = fork(program, [`http://127.0.0.1:${service.port}`, path, String(remainingMs), client], {
      env: {
        ...process.env,
        AWS_REGION: ACCESS.region,
        AWS_ACCESS_KEY_ID: ACCESS.credentials.accessKeyId,
        AWS_SECRET_ACCESS_KEY: ACCESS.credentials.secretAccessKey,
        AWS_ENDPOINT_URL_DYNAMODB: table.url,
        AWS_ENDPOINT_URL_SECRETS_MANAGER: secrets.url,
      },
    });
    const exit = once(child, 'exit');
    const [answer] = await once(child, 'message');
    expect(answer).toMatchObject({ events: ['answer'], left: [] });
    expect(expected).toContain(answer.type ?? answer.status);
    expect(await exit).toEqual([0, null]);
  },
);
