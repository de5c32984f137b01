import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { parseEndpoint } from '../../../client/sign.ts';
import { createTokenBroker } from '../../../client/token-broker.ts';
import { startFunctionUrl } from '../../../local/function-url/server.ts';
import { AWS_ANSWERS, issued } from './broker-answers.ts';
import { GOOD, MINUTE_MS, NOW, PAIR, startClientWorld } from './client-world.ts';
import type { Answer } from './loopback-server.ts';

const FUNCTION_URL = 'https://abcdefghijklmnop.lambda-url.eu-west-1.on.aws/';

describe('the address of the broker', () => {
  beforeEach(() => vi.stubEnv('AWS_REGION', 'ap-south-1'));
  afterEach(() => vi.unstubAllEnvs());

  it.each([
    ['the host of a Function URL', FUNCTION_URL, undefined, 'eu-west-1'],
    ['the option before the host', FUNCTION_URL, 'us-west-2', 'us-west-2'],
    ['the local broker, wherever the developer works', 'http://127.0.0.1:8788', undefined, 'us-east-1'],
    ['AWS_REGION when the host does not name a region', 'https://broker.example.com', undefined, 'ap-south-1'],
    ['AWS_REGION for a name below a Function URL', FUNCTION_URL.replace('//', '//a.'), undefined, 'ap-south-1'],
  ])('takes the region from %s', (_, url, region, expected) => {
    expect(parseEndpoint(url, region).region).toBe(expected);
  });

  it.each([undefined, ''])('asks for a region that neither the host nor AWS_REGION (%j) names', (region) => {
    vi.stubEnv('AWS_REGION', region);
    const parse = () => parseEndpoint('https://broker.example.com', undefined);
    expect(parse).toThrow(/give the region, or set AWS_REGION/);
  });

  it.each<[string, string, RegExp, string?]>([
    ...['Ireland', 'Eu-west-1', 'eu-west-1 '].map((region): [string, string, RegExp, string] => {
      return [`the region "${region}"`, FUNCTION_URL, /must look like eu-west-1/, region];
    }),
    ['a text that is not a URL', 'broker', /https:/],
    ['plain HTTP to another machine', 'http://broker.example.com', /only on loopback/],
    ['another protocol', 'ftp://127.0.0.1', /https:/],
    ['plain HTTP to a host that looks like loopback', 'http://127.0.0.1.example.com', /only on loopback/],
    ['a password', 'https://me:marked-password@broker.example.com', /user name or password/],
    ['a path', `${FUNCTION_URL}token`, /end after the host/],
    ['a query', `${FUNCTION_URL}?a=b`, /end after the host/],
  ])('refuses %s, and does not quote the URL', (_, url, message, region = 'eu-west-1') => {
    const parse = () => parseEndpoint(url, region);
    expect(parse).toThrow(TypeError);
    expect(parse).toThrow(message);
    expect(parse).not.toThrow(/marked-password/);
  });
});

it('the signature is made anew for every request, with its credentials and its time', async () => {
  let attempts = 0;
  const credentials = async () => ({ accessKeyId: `AKID${attempts}`, secretAccessKey: 'secret' });
  const { broker, clock, server } = await startClientWorld(GOOD, { credentials, cache: false });
  for (attempts of [1, 2]) {
    clock.now += 1_000;
    await broker.token(PAIR);
  }
  expect(server.requests.map(({ headers }) => headers)).toMatchObject([
    { 'x-amz-date': '20261101T100001Z', authorization: expect.stringContaining('Credential=AKID1/') },
    { 'x-amz-date': '20261101T100002Z', authorization: expect.stringContaining('Credential=AKID2/') },
  ]);
});

it.each([0, -6, 6])('a Function URL takes it with a clock %d minutes off, and that is remembered', async (minutes) => {
  const key = { accessKeyId: 'AKIDBILLING', secretAccessKey: 'billing-secret', sessionToken: 'billing-session' };
  const statuses: number[] = [];
  const { url, close } = await startFunctionUrl({
    port: 0,
    now: () => NOW,
    callers: [{ role: 'arn:aws:iam::111111111111:role/billing', ...key }],
    handler: async () => ({ statusCode: 200, body: JSON.stringify(issued(NOW)) }),
    onAnswer: ({ status }) => void statuses.push(status),
  });
  onTestFinished(close);
  const clock = { now: NOW + minutes * MINUTE_MS };
  const broker = createTokenBroker({ url, credentials: key, now: () => clock.now, cache: false });
  expect(await broker.token(PAIR)).toMatchObject({ expiresAt: clock.now + 3_599_000 });
  await broker.token(PAIR);
  clock.now = NOW;
  await broker.token(PAIR);
  expect(statuses).toEqual(minutes === 0 ? [200, 200, 200] : [403, 200, 200, 403, 200]);
  clock.now = NOW + minutes * MINUTE_MS;
  await Promise.all([broker.token(PAIR), broker.token({ ...PAIR, client: 'globex' })]);
});

it.each<[string, readonly Answer[], object, readonly string[]]>([
  ['once in a call and without a pause', [refusal(dateAfter(60)), refusal(dateAfter(1_200))], {}, ['100100']],
  ['when the clock is ahead', [refusal(dateAfter(-60), 'aws-signature-not-yet-current'), GOOD], {}, ['095900']],
  ['not when the refusal names a time less than a minute away', [refusal(dateAfter(59)), GOOD], {}, []],
  ['nor a time less than a minute before', [refusal(dateAfter(-59)), GOOD], {}, []],
  ['not when the refusal names no time', [refusal(undefined), GOOD], {}, []],
  ['not when the time cannot be read', [refusal('Thu, 99 Foo 2026 25:61:61 GMT'), GOOD], {}, []],
  ['not when the refusal has another reason', [refusal(dateAfter(360), 'aws-security-token-expired'), GOOD], {}, []],
  ['not when the client may send only once', [refusal(dateAfter(360)), GOOD], { maxAttempts: 1 }, []],
])('the time of the signature is corrected %s', async (_, answers, options, corrected) => {
  const { broker, server, waits } = await startClientWorld(answers, options);
  await broker.token(PAIR).catch(() => undefined);
  const times = server.requests.map(({ headers }) => /T(\d+)Z/.exec(`${headers['x-amz-date']}`)?.[1]);
  expect({ times, waits }).toEqual({ times: ['100000', ...corrected], waits: [] });
});

function dateAfter(seconds: number): string {
  return new Date(NOW + seconds * 1_000).toUTCString();
}

function refusal(date: string | undefined, type = 'aws-signature-expired'): Answer {
  return (response, request) => {
    response.removeHeader('date');
    if (date !== undefined) response.setHeader('date', date);
    response.sendDate = false;
    AWS_ANSWERS.find((each) => each.type === type)?.answer(response, request);
  };
}
