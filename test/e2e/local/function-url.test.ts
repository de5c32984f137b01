import { describe, expect, it, onTestFinished } from 'vitest';
import { type FunctionUrlSettings, startFunctionUrl } from '../../../local/function-url/server.ts';
import { type RequestToSign, type SigningScope, sign } from '../../support/aws/signers.ts';
import { send } from '../../support/requests.ts';

const DATE = new Date('2026-11-21T06:16:00Z');
const CALLER = {
  role: 'arn:aws:iam::222222222222:role/services/billing',
  accessKeyId: 'ASIABILLING',
  secretAccessKey: 'billing-secret',
  sessionToken: 'session-token',
};
const PLAIN = { role: CALLER.role, accessKeyId: 'AKIDPLAIN', secretAccessKey: 'plain-secret' };
const MAX_BODY_BYTES = 6_291_456;

async function start(settings: Partial<FunctionUrlSettings> = {}) {
  const events: Parameters<FunctionUrlSettings['handler']>[0][] = [];
  const functionUrl = await startFunctionUrl({
    handler: async (event) => {
      events.push(event);
      return { statusCode: 200, body: 'ok' };
    },
    callers: [CALLER, PLAIN],
    port: 0,
    now: () => DATE.getTime(),
    ...settings,
  });
  onTestFinished(functionUrl.close);
  const { url } = functionUrl;
  const signed = (given: Partial<RequestToSign> = {}, { credentials = CALLER, scope }: Signing = {}) => {
    const request = { method: 'POST', headers: {}, body: '{}', ...given, url: url + (given.url ?? '/path') };
    const full = { service: 'lambda', region: 'us-east-1', ...scope };
    return sign(request, credentials, DATE, full).then((headers) => ({ ...request, headers }));
  };
  const call = async (given: Partial<RequestToSign> = {}) => send(await signed(given));
  return { ...functionUrl, events, signed, call };
}

interface Signing {
  readonly credentials?: typeof PLAIN & { readonly sessionToken?: string | undefined };
  readonly scope?: Partial<SigningScope>;
}

/** Which members an event has, and of which type, contract/recorded-events.test.ts shows. */
describe('the event', () => {
  it('is a request in Lambda’s payload format 2.0', async () => {
    const { call, events, url } = await start();
    const { headers } = await call({
      url: '/token//%41?b=2&a=1&b=x%20y??',
      headers: { 'Content-Type': 'application/json', 'User-Agent': 'test/1', 'X-Many': 'one, two' },
      body: '{"client":"acme"}',
    });

    const userArn = 'arn:aws:sts::222222222222:assumed-role/billing/local-session';
    const iam = { accessKey: 'ASIABILLING', accountId: '222222222222', userArn };
    const http = { method: 'POST', sourceIp: '127.0.0.1' };
    const requestContext = { authorizer: { iam }, http, requestId: headers['x-amzn-requestid'] };
    const content = { body: '{"client":"acme"}', isBase64Encoded: false };
    const place = { rawPath: '/token//%41', rawQueryString: 'b=2&a=1&b=x%20y??' };
    expect(events).toMatchObject([{ ...place, requestContext, ...content }]);
    // As in AWS, the signature itself is not among them.
    expect(events[0]?.headers).toEqual({
      'content-length': '17',
      'content-type': 'application/json',
      host: new URL(url).host,
      'user-agent': 'test/1',
      'x-amz-date': '20261121T061600Z',
      'x-amz-security-token': 'session-token',
      'x-many': 'one, two',
    });
  });

  it('joins repeated headers with commas', async () => {
    const { signed, events } = await start();
    const request = await signed({ headers: { 'x-many': 'one,two' } });
    await send({ ...request, headers: { ...request.headers, 'x-many': ['one', 'two'] } });
    expect(events).toMatchObject([{ headers: { 'x-many': 'one,two' } }]);
  });

  it.each<readonly [string | undefined, string | Uint8Array, string | undefined, boolean]>([
    ['application/json', 'é=1', 'é=1', false],
    ['text/x-anything;charset=utf-8', 'é=1', 'é=1', false],
    ['application/x-www-form-urlencoded', 'é=1', 'w6k9MQ==', true],
    ['application/problem+json', 'é=1', 'w6k9MQ==', true],
    [undefined, Uint8Array.of(0, 255, 10, 13), 'AP8KDQ==', true],
    [undefined, '', undefined, false],
  ])('holds a body of type %s as text or in base64', async (type, body, told, isBase64Encoded) => {
    const { call, events } = await start();
    await call({ headers: type === undefined ? {} : { 'content-type': type }, body });
    expect(events).toMatchObject([{ isBase64Encoded }]);
    expect(events[0]?.body).toBe(told);
  });
});

describe('the function', () => {
  it.each([
    ['a full answer', { statusCode: 201, headers: { 'content-type': 'text/a' }, body: 'b' }, 201, 'text/a', 'b'],
    ['an answer without headers', { statusCode: 403, body: '{}' }, 403, 'application/json', '{}'],
  ])('returns %s, which becomes HTTP', async (_what, result, status, contentType, body) => {
    const { call } = await start({ handler: async () => result });
    expect(await call()).toMatchObject({ status, body, headers: { 'content-type': contentType } });
  });

  it.each<[string, FunctionUrlSettings['handler']]>([
    ['an error', () => Promise.reject(new Error('quite secret'))],
    ['no result in time', () => new Promise(() => {})],
    ['a status that does not exist', async () => ({ statusCode: 99 })],
    ['no status', async () => undefined],
  ])('that returns %s is an opaque 502', async (_what, handler) => {
    const answered: unknown[] = [];
    const { call } = await start({ handler, timeoutMs: 20, onAnswer: (answer) => answered.push(answer) });
    expect(await call()).toMatchObject({ status: 502, body: 'Internal Server Error' });
    expect(answered).toMatchObject([{ method: 'POST', path: '/path', status: 502, failure: expect.any(Error) }]);
  });

  it('is not called for more than an event holds', async () => {
    const { call, events } = await start();
    expect(await call({ body: new Uint8Array(MAX_BODY_BYTES + 1) })).toMatchObject({ status: 413 });
    expect(events).toEqual([]);
  });
});

type Headers = Readonly<Record<string, string>>;

const MISMATCH = ['InvalidSignatureException', 'The request signature we calculated does not match'];
const FORBIDDEN = ['AccessDeniedException', 'Forbidden. For troubleshooting Function URL'];
const TOKEN_INVALID = ['UnrecognizedClientException', 'The security token included in the request is invalid.'];
const INCOMPLETE = ['IncompleteSignatureException', 'Authorization header requires'];
const NO_DATE = ['IncompleteSignatureException', 'Date must be in ISO-8601'];
const UNSCOPED = ['InvalidSignatureException', 'Credential should be scoped to'];
const unsigned = (name: string) => ['InvalidSignatureException', `'${name}' must be a 'SignedHeader'`];

/** The members of a signature, and changes of a signed request; attacks/callers/sigv4.test.ts changes single bytes. */
it.for<readonly [what: string, refusal: readonly string[], Signing, change?: (headers: Headers) => Headers]>([
  ['a request without a signature', FORBIDDEN, {}, () => ({})],
  ['a bearer token', INCOMPLETE, {}, (headers) => ({ ...headers, authorization: 'Bearer abc' })],
  ['a key that does not exist', TOKEN_INVALID, { credentials: { ...PLAIN, accessKeyId: 'AKIDOTHER' } }],
  ['a wrong secret access key', MISMATCH, { credentials: { ...PLAIN, secretAccessKey: 'wrong' } }],
  ['a missing session token', TOKEN_INVALID, { credentials: { ...CALLER, sessionToken: undefined } }],
  ['another region', UNSCOPED, { scope: { region: 'eu-west-1' } }],
  ['another service', UNSCOPED, { scope: { service: 'execute-api' } }],
  [
    'a host that was not signed',
    unsigned('host'),
    {},
    (headers) => ({ ...headers, authorization: `${headers.authorization}`.replace('host;', '') }),
  ],
  ['a header that was not signed', unsigned('x-amz-added'), {}, (headers) => ({ ...headers, 'X-Amz-Added': 'later' })],
  ['no date', NO_DATE, {}, ({ 'x-amz-date': _, ...headers }) => headers],
  ['a date that there is not', NO_DATE, {}, (headers) => ({ ...headers, 'x-amz-date': '20261321T061600Z' })],
])('the Function URL refuses as AWS does, and invokes nothing: %s', async ([_what, refusal, signing, change]) => {
  const { signed, events } = await start();
  const request = await signed({}, signing);
  const { status, headers, body } = await send({ ...request, headers: change?.(request.headers) ?? request.headers });
  const { message, Message = message } = JSON.parse(body);

  expect({ status, type: headers['x-amzn-errortype'] }).toEqual({ status: 403, type: refusal[0] });
  expect(Message).toMatch(new RegExp(`^${refusal[1]}`));
  expect(events).toEqual([]);
});

it.each([
  [-301, 403],
  [-300, 200],
  [300, 200],
  [301, 403],
])('a signature is good within five minutes of its date, and refused a second later: %d s', async (seconds, status) => {
  const { call } = await start({ now: () => DATE.getTime() + seconds * 1_000 });
  expect(await call()).toMatchObject({ status });
});

it('a Function URL does not start for a caller that is no role', async () => {
  const role = 'arn:aws:iam::111111111111:user/billing';
  await expect(start({ callers: [{ ...CALLER, role }] })).rejects.toThrow(`not the ARN of a role: ${role}`);
});
