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
const FORM_TYPE = { 'content-type': 'application/x-www-form-urlencoded' };

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
  ['a PUT', { method: 'PUT' }, 405, 'method-not-allowed'],
  ['a query', { target: '/token?client=globex' }, 400, 'invalid-request'],
  ['a repeated query key', { target: '/token?client=acme&client=globex' }, 400, 'invalid-request'],
  ['no content type', { headers: {} }, 415, 'unsupported-media-type'],
  ['text', { headers: { 'content-type': 'text/plain' } }, 415, 'unsupported-media-type'],
  [
    'a multipart form',
    { headers: { 'content-type': 'multipart/form-data; boundary=x' } },
    415,
    'unsupported-media-type',
  ],
  [
    'JSON in UTF-16',
    { headers: { 'content-type': 'application/json; charset=utf-16' } },
    415,
    'unsupported-media-type',
  ],
  [
    'two content types',
    { headers: { 'content-type': ['application/json', 'application/json'] } },
    415,
    'unsupported-media-type',
  ],
  ['no body', { body: '' }, 400, 'invalid-request'],
  ['a body of 16 KiB and a byte', { body: GLOBEX.padEnd(16_385) }, 413, 'content-too-large'],
  [
    'bytes that are not UTF-8',
    { body: Buffer.from(GLOBEX.replace('globex', 'glob\xff'), 'latin1') },
    400,
    'invalid-request',
  ],
  [
    'a form that is not UTF-8',
    { headers: FORM_TYPE, body: Buffer.from('client=\xff', 'latin1') },
    400,
    'invalid-request',
  ],
  ['compressed bytes', { body: Buffer.from('H4sIAAAAAAAAA6uuBQBDv6ajAgAAAA==', 'base64') }, 400, 'invalid-request'],
  ['truncated JSON', { body: GLOBEX.slice(0, -1) }, 400, 'invalid-request'],
  ['JSON twice', { body: GLOBEX + GLOBEX }, 400, 'invalid-request'],
  ['a form called JSON', { body: 'client=globex&service=customer-insights' }, 400, 'invalid-request'],
  ['JSON called a form', { headers: FORM_TYPE }, 400, 'invalid-request'],
  ['a list', { body: `[${GLOBEX}]` }, 400, 'invalid-request'],
  ['deep nesting', { body: '['.repeat(8_000) + ']'.repeat(8_000) }, 400, 'invalid-request'],
  [
    'a deeply nested member',
    { body: `{"client":${'{"a":'.repeat(2_000)}1${'}'.repeat(2_001)}` },
    400,
    'invalid-request',
  ],
  ['__proto__', { body: `{"__proto__":{"client":"globex"},${SERVICE}}` }, 400, 'invalid-request'],
  ['__proto__ beside good members', { body: GLOBEX.replace('{', '{"__proto__":{},') }, 400, 'invalid-request'],
  ['constructor beside good members', { body: GLOBEX.replace('{', '{"constructor":1,') }, 400, 'invalid-request'],
  ['an unknown member', { body: GLOBEX.replace('{', '{"Client":"acme",') }, 400, 'invalid-request'],
  ['a member of the wrong type', { body: GLOBEX.replace('"globex"', '["globex"]') }, 400, 'invalid-request'],
  ['a client with a slash', { body: GLOBEX.replace('globex', '../globex') }, 400, 'invalid-request'],
  ['a client with a line break', { body: GLOBEX.replace('globex', 'globex\\n') }, 400, 'invalid-request'],
  [
    'a repeated form member',
    { headers: FORM_TYPE, body: 'client=acme&client=globex&service=customer-insights' },
    400,
    'invalid-request',
  ],
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
