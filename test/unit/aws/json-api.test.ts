import { inspect } from 'node:util';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { causeWord, isDefinitive } from '../../../functions/aws/calls.ts';
import { createDynamoDB } from '../../../functions/aws/dynamodb.ts';
import { createSecretsManager } from '../../../functions/aws/secrets-manager.ts';
import type { SendHttp } from '../../../functions/broker/token-request/send-http.ts';
import { ACCESS as EXAMPLE } from '../../support/example.ts';

const { signal } = new AbortController();
const ACCESS = { ...EXAMPLE, region: 'eu-west-1', credentials: { ...EXAMPLE.credentials, sessionToken: 'session' } };
const ENDPOINTS = ['AWS_ENDPOINT_URL_DYNAMODB', 'AWS_ENDPOINT_URL_SECRETS_MANAGER'];
const EMPTY = { status: 200, headers: {}, body: Buffer.from('{}') };
const SECRET = { SecretId: 'token-broker/dev/acme', VersionStage: 'AWSCURRENT' };
const LOOK = { TableName: 'pairs', Key: { pair: { S: 'acme/customer-insights' } } };

afterEach(() => {
  vi.unstubAllEnvs();
});

it('a request names the broker and its environment outside of the signature', async () => {
  const send = vi.fn<SendHttp>(async () => EMPTY);
  await createDynamoDB({ ...ACCESS, send, environment: 'prod' }).getItem(LOOK, signal);
  const headers = send.mock.calls[0]?.[0].headers;
  expect(headers?.['user-agent']).toBe('token-broker/local (prod)');
  expect(headers?.authorization).toMatch(/SignedHeaders=(?!.*user-agent)/);
});

describe('the endpoint', () => {
  it.each([
    ['dynamodb', 'AWS_ENDPOINT_URL_DYNAMODB'],
    ['secretsmanager', 'AWS_ENDPOINT_URL_SECRETS_MANAGER'],
  ])('of %s is that of the region, that of the variable, and none without a region', async (service, variable) => {
    for (const name of ENDPOINTS) vi.stubEnv(name, 'http://127.0.0.1:9');
    vi.stubEnv(variable, undefined).stubEnv('AWS_ENDPOINT_URL', undefined).stubEnv('AWS_REGION', 'eu-west-1');
    expect(await urlOf(service)).toBe(`https://${service}.eu-west-1.amazonaws.com/`);
    vi.stubEnv('AWS_ENDPOINT_URL', 'http://127.0.0.1:7000');
    expect(await urlOf(service)).toBe('http://127.0.0.1:7000/');
    vi.stubEnv(variable, 'http://127.0.0.1:8000');
    expect(await urlOf(service)).toBe('http://127.0.0.1:8000/');
    vi.stubEnv('AWS_REGION', undefined);
    await expect(urlOf(service)).rejects.toThrow('AWS_REGION must be set.');
  });

  it.each(['eu-west-1.example.com/', 'x@example.com', 'example.com#', 'EU-WEST-1', 'eu-west-1 ', '..', 'local'])(
    'is none for %j, which is no region',
    async (region) => {
      await expect(urlOf('dynamodb', region)).rejects.toThrow('AWS_REGION must be a region such as eu-west-1.');
    },
  );

  async function urlOf(service: string, region?: string): Promise<string> {
    const send = vi.fn<SendHttp>(async () => EMPTY);
    const access = { ...ACCESS, region, send };
    if (service === 'dynamodb') await createDynamoDB(access).getItem(LOOK, signal);
    else await createSecretsManager(access).getSecretValue(SECRET, signal);
    return `${send.mock.calls[0]?.[0].url}`;
  }
});

it('the credentials are those of the variables at the time of a call, and without them nothing is sent', async () => {
  const sent: unknown[] = [];
  const send: SendHttp = async ({ headers }) => {
    sent.push([/Credential=(\w+)/.exec(`${headers.authorization}`)?.[1], headers['x-amz-security-token']]);
    return EMPTY;
  };
  const { getItem } = createDynamoDB({ environment: 'test', region: 'eu-west-1', send });
  const key = { AWS_ACCESS_KEY_ID: 'ASIAEXAMPLE', AWS_SECRET_ACCESS_KEY: 'example', AWS_SESSION_TOKEN: 'session' };
  for (const changes of [{}, { AWS_SESSION_TOKEN: undefined }]) {
    for (const [name, value] of Object.entries({ ...key, ...changes })) vi.stubEnv(name, value);
    await getItem(LOOK, signal);
  }
  for (const missing of ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY']) {
    for (const [name, value] of Object.entries(key)) vi.stubEnv(name, name === missing ? undefined : value);
    await expect(getItem(LOOK, signal)).rejects.toSatisfy((error) => causeWord(error) === 'NoCredentials');
  }
  expect(sent).toEqual([
    ['ASIAEXAMPLE', 'session'],
    ['ASIAEXAMPLE', undefined],
  ]);
});

describe('an answer', () => {
  it('returns the item, its bytes as bytes', async () => {
    const Item = { B: { S: 'text' }, bytes: { B: 'AAEC' }, list: { L: [{ B: '/w==' }] }, none: { NULL: true } };
    expect(await answered(200, { Item })).toEqual({
      B: { S: 'text' },
      bytes: { B: Buffer.of(0, 1, 2) },
      list: { L: [{ B: Buffer.of(255) }] },
      none: { NULL: true },
    });
  });

  it.each([{}, { Item: null }])('without an item returns none: %j', async (members) => {
    expect(await answered(200, members)).toBe(undefined);
  });

  it.each<[object, Record<string, string>?]>([
    [{ Item: 'text' }],
    [{ Item: [] }],
    [{ __type: 'ResourceNotFoundException' }],
    [{ code: 'ResourceNotFoundException' }],
    [{ message: 'no' }],
    [{ Message: 'no' }],
    [{}, { 'x-amzn-errortype': 'ResourceNotFoundException' }],
  ])('with the status 200 that AWS never sends is no answer: %j %j', async (members, headers) => {
    const failure = await answered(200, members, headers);
    expect(failure).toBeInstanceOf(SyntaxError);
    expect(isDefinitive(failure)).toBe(false);
  });

  it.each<[string, object, Record<string, string>?]>([
    ['the header', { code: 'B', __type: 'C' }, { 'x-amzn-errortype': 'A:http://example.com/' }],
    ['the member code', { code: 'ns#A', __type: 'C' }],
    ['the member __type', { __type: 'ns#A' }],
  ])('that refuses is named by %s first', async (_, members, headers) => {
    expect(await answered(400, members, headers)).toMatchObject({ name: 'A', status: 400 });
  });

  it.each([
    ['com.amazonaws.dynamodb.v20120810#ResourceNotFoundException', 'ResourceNotFoundException', true],
    ['KMSAccessDeniedException:http://example.com/', 'KMSAccessDeniedException', false],
    [undefined, 'UnknownError', false],
    [{ marked: 1 }, 'UnknownError', false],
    ['#', 'UnknownError', false],
    ['ResourceNotFoundException', 'ResourceNotFoundException', false, 500],
    ['ResourceNotFoundException', 'ResourceNotFoundException', false, 302],
    ['InternalServerError', 'InternalServerError', false, 500],
  ])('that refuses is an error with its name and nothing else: %s', async (__type, name, definitive, status = 400) => {
    const failure = await answered(status, { __type, message: 'marked', Item: { marked: { S: 'marked' } } });
    expect(causeWord(failure)).toBe(name);
    expect(isDefinitive(failure)).toBe(definitive);
    expect(inspect(failure, { depth: null, showHidden: true })).not.toContain('marked');
  });

  it.each([201, 202, 204, 206, 299, 301, 304, 307, 399])('with the status %d is none', async (status) => {
    const failure = await answered(status, { Item: { pair: { S: 'marked' } } });
    expect(failure).toBeInstanceOf(Error);
    expect([failure, isDefinitive(failure)]).toMatchObject([{ status }, false]);
  });

  it('is read for fifteen seconds and up to a million bytes at most', async () => {
    const send = vi.fn<SendHttp>(async () => EMPTY);
    await createDynamoDB({ ...ACCESS, send }).getItem(LOOK, signal);
    expect(send.mock.calls[0]?.[1]).toEqual({ timeoutMs: 15_000, maxBodyBytes: 1_000_000, signal });
  });

  it('that names its error at great length is read in one go: to search anew from each letter would take half an hour', async () => {
    expect(causeWord(await answered(400, { __type: `${'a'.repeat(900_000)}:\n` }))).toBe('unknown');
  });

  it.each([
    [200, '"marked"'],
    [502, '<html>marked</html>'],
  ])('that is no JSON object is an error that does not quote it: %d %s', async (status, body) => {
    const failure = await answered(status, body);
    expect(failure).toMatchObject({ name: 'SyntaxError', message: 'The answer of AWS is not a JSON object' });
    expect(isDefinitive(failure)).toBe(false);
  });

  /** The item, or the error. */
  function answered(status: number, answer: object | string, headers = {}): Promise<unknown> {
    const body = Buffer.from(typeof answer === 'string' ? answer : JSON.stringify(answer));
    const send: SendHttp = async () => ({ status, headers, body });
    return createDynamoDB({ ...ACCESS, send })
      .getItem(LOOK, signal)
      .catch((error: unknown) => error);
  }
});
