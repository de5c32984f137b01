import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import type { SecretsManagerStandIn } from '../../bin/local/aws/secrets-manager.ts';
import { ACCEPTED_CREDENTIALS, exampleConfig } from '../../bin/local/config.ts';
import { startTokenService, type TokenService } from '../../bin/local/token-service/server.ts';
import { type LocalBrokerProcess, startLocalBroker } from '../support/local-broker.ts';
import { type RequestToSend, send } from '../support/requests.ts';
import { sign } from '../support/signers.ts';
import { startSecretsManager } from '../support/stand-ins.ts';

const BILLING = { accessKeyId: 'AKIDLOCALBILLING', secretAccessKey: 'local-billing-secret' };
const SERVICE = '"service":"customer-insights"';
const GLOBEX = `{"client":"globex",${SERVICE}}`;
const JSON_TYPE = { 'content-type': 'application/json' };

let tokenService: TokenService;
let secretsManager: SecretsManagerStandIn;
let broker: LocalBrokerProcess;

/** Everything that the broker asked Secrets Manager or the services for. */
const calls = () => [...secretsManager.calls, ...tokenService.requests];

beforeAll(async () => {
  tokenService = await startTokenService({ credentials: ACCEPTED_CREDENTIALS });
  secretsManager = await startSecretsManager();
  broker = await startLocalBroker({
    config: exampleConfig(tokenService.authUrl),
    env: {
      AWS_ENDPOINT_URL_SECRETS_MANAGER: secretsManager.url,
      AWS_ACCESS_KEY_ID: 'AKIDEXAMPLE',
      AWS_SECRET_ACCESS_KEY: 'example',
    },
  });
  // From now on the broker has read everything that it reads only once.
  await post({ body: GLOBEX.replace('globex', 'acme') });
});
afterAll(async () => {
  expect(await broker.end()).toMatchObject({ exitCode: 0, stderr: '' });
  await secretsManager.close();
  await tokenService.close();
});

type Sent = Partial<Omit<RequestToSend, 'url'>> & { readonly target?: string };

/** Signs and sends what would be a good request for a token that no test has asked for before, with these changes. */
async function post({ target = '/token', method = 'POST', headers = JSON_TYPE, body = GLOBEX }: Sent) {
  const request = { method, url: broker.url + target, body };
  const joined = Object.entries(headers).map(([name, value]) => [name, [value].flat().join(',')]);
  const signed = await sign('aws4fetch', { ...request, headers: Object.fromEntries(joined) }, BILLING, new Date());
  const answer = await send({ ...request, headers: { ...signed, ...headers } });
  return { ...answer, json: JSON.parse(answer.body) };
}

let before: readonly unknown[];
beforeEach(() => {
  before = calls();
});

it.each<[string, Sent, number, string]>([
  ['another path', { target: '/tokens' }, 404, 'not-found'],
  ['no path', { target: '/' }, 404, 'not-found'],
  ['a path in other letters', { target: '/Token' }, 404, 'not-found'],
  ['a slash before the path', { target: '//token' }, 404, 'not-found'],
  ['a slash after the path', { target: '/token/' }, 404, 'not-found'],
  ['an encoded path', { target: '/%74oken' }, 404, 'not-found'],
  ['a GET', { method: 'GET', body: '' }, 405, 'method-not-allowed'],
  ['a query', { target: '/token?client=globex' }, 400, 'invalid-request'],
  ['no content type', { headers: {} }, 415, 'unsupported-media-type'],
  [
    'two content types',
    { headers: { 'content-type': ['application/json', 'application/json'] } },
    415,
    'unsupported-media-type',
  ],
  ['a body of 16 KiB and a byte', { body: GLOBEX.padEnd(16_385) }, 413, 'content-too-large'],
  [
    'bytes that are not UTF-8',
    { body: Buffer.from(GLOBEX.replace('globex', 'glob\xff'), 'latin1') },
    400,
    'invalid-request',
  ],
  ['compressed bytes', { body: Buffer.from('H4sIAAAAAAAAA6uuBQBDv6ajAgAAAA==', 'base64') }, 400, 'invalid-request'],
  ['deep nesting', { body: '['.repeat(8_000) + ']'.repeat(8_000) }, 400, 'invalid-request'],
  ['__proto__', { body: `{"__proto__":{"client":"globex"},${SERVICE}}` }, 400, 'invalid-request'],
])('%s gets a problem and reaches neither Secrets Manager nor a service', async (_, sent, status, type) => {
  expect(await post(sent)).toMatchObject({
    status,
    headers: { 'content-type': 'application/problem+json', 'cache-control': 'no-store' },
    json: { type, status, retryable: false, request_id: expect.stringMatching(/^[0-9a-f-]{36}$/) },
  });
  expect(calls()).toEqual(before);
});

it('the same request without a fault reaches both', async () => {
  expect(await post({})).toMatchObject({ status: 200 });
  expect(calls().length).toBeGreaterThanOrEqual(before.length + 2);
});
