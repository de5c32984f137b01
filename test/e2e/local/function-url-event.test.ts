import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type FunctionUrl, startFunctionUrl } from '../../../bin/local/function-url/server.ts';
import { send } from '../../support/requests.ts';
import { type RequestToSign, sign } from '../../support/signers.ts';

const DATE = new Date('2026-11-21T06:16:00Z');
const CALLER = {
  role: 'arn:aws:iam::222222222222:role/services/billing',
  accessKeyId: 'ASIABILLING',
  secretAccessKey: 'billing-secret',
  sessionToken: 'session-token',
};

const GET = { method: 'GET', headers: {}, body: '' };

let functionUrl: FunctionUrl;
let events: unknown[];

beforeAll(async () => {
  functionUrl = await startFunctionUrl({
    handler: async (event) => events.push(event),
    callers: [CALLER],
    port: 0,
    region: 'eu-west-1',
    now: () => DATE.getTime(),
  });
});
beforeEach(() => {
  events = [];
});
afterAll(() => functionUrl.close());

describe('the event', () => {
  it('is all that Lambda tells about a request, in payload format 2.0', async () => {
    const event = await eventOf({
      method: 'POST',
      url: '/token//%41?b=2&a=1&b=x%20y&a=',
      headers: { 'Content-Type': 'application/json', 'User-Agent': 'test/1', 'X-Many': 'one, two', Cookie: 'c=1; d=2' },
      body: '{"client":"acme"}',
    });

    const host = new URL(functionUrl.url).host;
    expect(event).toStrictEqual({
      version: '2.0',
      routeKey: '$default',
      rawPath: '/token//%41',
      rawQueryString: 'b=2&a=1&b=x%20y&a=',
      cookies: ['c=1', 'd=2'],
      headers: {
        'content-length': '17',
        'content-type': 'application/json',
        host,
        'user-agent': 'test/1',
        'x-amz-date': '20261121T061600Z',
        'x-amz-security-token': 'session-token',
        'x-amzn-tls-cipher-suite': 'TLS_AES_128_GCM_SHA256',
        'x-amzn-tls-version': 'TLSv1.3',
        'x-amzn-trace-id': expect.stringMatching(/^Root=1-6b013720-[0-9a-f]{24}$/),
        'x-forwarded-for': '127.0.0.1',
        'x-forwarded-port': '443',
        'x-forwarded-proto': 'https',
        'x-many': 'one, two',
      },
      queryStringParameters: { a: '1,', b: '2,x y' },
      requestContext: {
        accountId: '111111111111',
        apiId: expect.stringMatching(/^[a-z0-9]{32}$/),
        authentication: null,
        authorizer: {
          iam: {
            accessKey: 'ASIABILLING',
            accountId: '222222222222',
            callerId: expect.stringMatching(/^AROA[A-Z0-9]{17}:local-session$/),
            cognitoIdentity: null,
            principalOrgId: expect.stringMatching(/^o-[a-z0-9]{10,32}$/),
            userArn: 'arn:aws:sts::222222222222:assumed-role/billing/local-session',
            userId: expect.stringMatching(/^AROA[A-Z0-9]{17}:local-session$/),
          },
        },
        domainName: expect.stringMatching(/^[a-z0-9]{32}\.lambda-url\.eu-west-1\.on\.aws$/),
        domainPrefix: expect.stringMatching(/^[a-z0-9]{32}$/),
        http: {
          method: 'POST',
          path: '/token//%41',
          protocol: 'HTTP/1.1',
          sourceIp: '127.0.0.1',
          userAgent: 'test/1',
        },
        requestId: expect.stringMatching(/^[0-9a-f-]{36}$/),
        routeKey: '$default',
        stage: '$default',
        time: '21/Nov/2026:06:16:00 +0000',
        timeEpoch: DATE.getTime(),
      },
      body: '{"client":"acme"}',
      isBase64Encoded: false,
    });
  });

  it('leaves out what a bare request does not have', async () => {
    const event = await eventOf({ ...GET, url: '/' });
    expect(event).toMatchObject({ isBase64Encoded: false, requestContext: { http: { userAgent: null } } });
    for (const absent of ['body', 'cookies', 'queryStringParameters']) expect(event).not.toHaveProperty(absent);
  });

  it('joins repeated headers with commas', async () => {
    const request = { ...GET, url: functionUrl.url, headers: { 'x-many': 'one,two' } };
    const headers = { ...(await signed(request)), 'x-many': ['one', 'two'] };
    await send({ ...request, headers });
    expect(events).toEqual([expect.objectContaining({ headers: expect.objectContaining({ 'x-many': 'one,two' }) })]);
  });

  it.each([
    ['starts the query at the first question mark', '??a=b?c', '{"?a":"b?c"}'],
    [
      'treats names of the prototype like others',
      '?constructor=1&toString=2&constructor=3',
      '{"constructor":"1,3","toString":"2"}',
    ],
  ])('%s', async (_, query, parameters) => {
    const event = await eventOf({ ...GET, url: `/path${query}` });
    expect(event).toMatchObject({ rawPath: '/path', rawQueryString: query.slice(1) });
    expect(JSON.stringify(event)).toContain(`"queryStringParameters":${parameters}`);
  });

  it.each([
    ['application/json', false],
    ['Application/JSON; charset=utf-8', false],
    ['application/xml', false],
    ['application/javascript', false],
    ['text/plain', false],
    ['text/x-anything;charset=utf-8', false],
    ['application/x-www-form-urlencoded', true],
    ['application/octet-stream', true],
    ['application/problem+json', true],
    [undefined, true],
  ])('holds a body of type %s in base64: %s', async (contentType, isBase64Encoded) => {
    const headers: Record<string, string> = contentType === undefined ? {} : { 'content-type': contentType };
    const event = await eventOf({ method: 'POST', url: '/', headers, body: 'é=1' });
    expect(event).toMatchObject({ isBase64Encoded, body: isBase64Encoded ? 'w6k9MQ==' : 'é=1' });
  });

  it('holds bytes unharmed', async () => {
    const event = await eventOf({ method: 'PUT', url: '/', headers: {}, body: Uint8Array.of(0, 255, 10, 13) });
    expect(event).toMatchObject({ body: 'AP8KDQ==', isBase64Encoded: true });
  });
});

async function eventOf(request: RequestToSign): Promise<unknown> {
  const absolute = { ...request, url: functionUrl.url + request.url };
  expect(await send({ ...absolute, headers: await signed(absolute) })).toMatchObject({ status: 200 });
  return events[0];
}

function signed(request: RequestToSign) {
  return sign('aws4fetch', request, CALLER, DATE, { service: 'lambda', region: 'eu-west-1' });
}
