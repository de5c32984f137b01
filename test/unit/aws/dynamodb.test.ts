import { Readable } from 'node:stream';
import {
  DynamoDBClient,
  GetItemCommand,
  UpdateItemCommand,
  type UpdateItemCommandInput,
} from '@aws-sdk/client-dynamodb';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { causeWord, isDefinitive } from '../../../functions/aws/calls.ts';
import { createDynamoDB } from '../../../functions/aws/dynamodb.ts';
import type { Send } from '../../../functions/broker/token-request/send.ts';
import { ACCESS as EXAMPLE, START } from '../../support/example.ts';

const { signal } = new AbortController();
const ACCESS = { region: 'eu-west-1', credentials: { ...EXAMPLE.credentials, sessionToken: 'session' } };
const UNSIGNED = ['host', 'content-type', 'x-amz-target'];
const LOOK = { TableName: 'pairs', Key: { pair: { S: 'acme/customer-insights' } } };

/** In the order in which the SDK writes its members, with every kind of attribute. */
const WRITE: UpdateItemCommandInput = {
  ...LOOK,
  ReturnValues: 'ALL_OLD',
  UpdateExpression: 'SET #a = :a',
  ConditionExpression: 'NOT attribute_type(#a, :b) – “ü”\n',
  ExpressionAttributeNames: { '#a': 'naïve\u0000' },
  ExpressionAttributeValues: {
    ':a': { L: [{ B: Uint8Array.of(0, 255) }, { B: Buffer.from('bytes') }, { BOOL: true }] },
    ':b': { SS: ['', 'é', '\ud800'] },
    ':c': { N: '-1e-7' },
  },
};

afterEach(() => {
  vi.unstubAllEnvs();
  vi.useRealTimers();
});

describe('a request', () => {
  it('is that of the SDK’s client, byte for byte, but for the headers in which the SDK tells of itself', async () => {
    const sent: object[] = [];
    const sdk = new DynamoDBClient({
      ...ACCESS,
      requestHandler: {
        async handle({ protocol, hostname, path, method, headers, body }: SdkRequest) {
          sent.push({ url: `${protocol}//${hostname}${path}`, method, headers, body: Buffer.from(body).toString() });
          return { response: { statusCode: 200, headers: {}, body: Readable.from(['{}']) } };
        },
      },
    });
    sdk.middlewareStack.addRelativeTo(
      <Input extends object, Answer>(next: (call: Input) => Promise<Answer>) =>
        (call: Input) => {
          const { headers } = (call as { readonly request: { readonly headers: Record<string, string> } }).request;
          for (const name of Object.keys(headers)) if (!UNSIGNED.includes(name)) delete headers[name];
          return next(call);
        },
      { relation: 'before', toMiddleware: 'httpSigningMiddleware' },
    );
    const own = createDynamoDB({
      ...ACCESS,
      endpoint: 'https://dynamodb.eu-west-1.amazonaws.com',
      async send({ url, ...request }) {
        sent.push({ url: `${url}`, ...request });
        return { status: 200, headers: {}, body: Buffer.from('{}') };
      },
    });

    vi.useFakeTimers({ now: START, toFake: ['Date'] });
    await sdk.send(new GetItemCommand(LOOK));
    await own.getItem(LOOK, signal);
    await sdk.send(new UpdateItemCommand(WRITE));
    await own.updateItem(WRITE, signal);
    expect([sent[1], sent[3]]).toEqual([sent[0], sent[2]]);
    const authorization = expect.stringMatching(/^AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE\//);
    const headersOf = (name: string) => ({ authorization, 'x-amz-target': `DynamoDB_20120810.${name}` });
    expect(sent).toMatchObject([{}, { headers: headersOf('GetItem') }, {}, { headers: headersOf('UpdateItem') }]);
  });
});

describe('the endpoint', () => {
  it('is that of the region, that of the variable, and none without a region', async () => {
    vi.stubEnv('AWS_ENDPOINT_URL_DYNAMODB', undefined);
    vi.stubEnv('AWS_REGION', 'us-gov-west-1');
    expect(await urlOf({})).toBe('https://dynamodb.us-gov-west-1.amazonaws.com/');
    expect(await urlOf({ region: 'cn-north-1' })).toBe('https://dynamodb.cn-north-1.amazonaws.com.cn/');
    vi.stubEnv('AWS_ENDPOINT_URL_DYNAMODB', 'http://127.0.0.1:8000');
    expect(await urlOf({})).toBe('http://127.0.0.1:8000/');
    vi.stubEnv('AWS_REGION', undefined);
    await expect(urlOf({})).rejects.toThrow('AWS_REGION must be set.');
  });

  async function urlOf(options: { readonly region?: string }): Promise<string> {
    let asked: URL | undefined;
    const send: Send = async ({ url }) => {
      asked = url;
      return { status: 200, headers: {}, body: Buffer.from('{}') };
    };
    await createDynamoDB({ credentials: ACCESS.credentials, ...options, send }).getItem(LOOK, signal);
    return `${asked}`;
  }
});

describe('an answer', () => {
  it('gives the item, its bytes as bytes', async () => {
    const Item = { B: { S: 'text' }, bytes: { B: 'AAEC' }, list: { L: [{ B: '/w==' }] }, none: { NULL: true } };
    expect(await answered(200, { Item })).toEqual({
      B: { S: 'text' },
      bytes: { B: Buffer.of(0, 1, 2) },
      list: { L: [{ B: Buffer.of(255) }] },
      none: { NULL: true },
    });
  });

  it.each([{}, { Item: null }, { Item: 'text' }, { Item: [] }])('without an item gives none: %j', async (members) => {
    expect(await answered(200, members)).toBe(undefined);
  });

  it.each([
    ['com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException', 'ConditionalCheckFailedException', true],
    ['KMSAccessDeniedException:http://example.com/', 'KMSAccessDeniedException', true],
    ['com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException', /^ProvisionedThroughputEx/, false],
    ['com.amazonaws.dynamodb.v20120810#RequestLimitExceeded', 'RequestLimitExceeded', false],
    ['com.amazon.coral.service#InvalidSignatureException', 'InvalidSignatureException', false],
    [undefined, 'UnknownError', true],
    [{ marked: 1 }, 'UnknownError', true],
    ['#', 'UnknownError', true],
    ['InternalServerError', 'InternalServerError', false, 500],
  ])('that refuses is an error with its name and nothing else: %s', async (__type, name, definitive, status = 400) => {
    const failure = await answered(status, { __type, message: 'marked', Item: { marked: { S: 'marked' } } });
    expect(causeWord(failure)).toMatch(name);
    expect(isDefinitive(failure)).toBe(definitive);
    expect(JSON.stringify([failure, `${failure}`, Object.values(failure ?? {})])).not.toContain('marked');
  });

  it.each([
    [200, '{"Item":{"marked"'],
    [200, '"marked"'],
    [502, '<html>marked</html>'],
    [403, ''],
  ])('that is no JSON object is an error that does not quote it: %d %s', async (status, body) => {
    const failure = await answered(status, body);
    expect(failure).toMatchObject({ name: 'SyntaxError', message: 'The answer of AWS is no JSON object' });
    expect(isDefinitive(failure)).toBe(false);
  });

  /** The item, or the error. */
  function answered(status: number, answer: object | string): Promise<unknown> {
    const body = Buffer.from(typeof answer === 'string' ? answer : JSON.stringify(answer));
    const send: Send = async () => ({ status, headers: {}, body });
    return createDynamoDB({ ...ACCESS, send })
      .getItem(LOOK, signal)
      .catch((error: unknown) => error);
  }
});

interface SdkRequest extends Record<'protocol' | 'hostname' | 'path' | 'method', string> {
  readonly body: Uint8Array;
  readonly headers: Readonly<Record<string, string>>;
}
