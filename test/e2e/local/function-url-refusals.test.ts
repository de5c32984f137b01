import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type FunctionUrl, startFunctionUrl } from '../../../bin/local/function-url/server.ts';
import { send } from '../../support/requests.ts';
import { type SignedHeaders, type SigningScope, sign } from '../../support/signers.ts';

const DATE = new Date('2026-11-21T06:16:00Z');
const ROLE = 'arn:aws:iam::111111111111:role/any';
const PLAIN = { role: ROLE, accessKeyId: 'AKIDPLAIN', secretAccessKey: 'plain-secret' };
const SESSION = { role: ROLE, accessKeyId: 'ASIASESSION', secretAccessKey: 'session-secret', sessionToken: 'token' };
const NO_POLICY = { role: ROLE, accessKeyId: 'AKIDNOPOLICY', secretAccessKey: 'no-policy-secret', mayInvoke: false };

const FORBIDDEN = [
  'AccessDeniedException',
  {
    Message:
      'Forbidden. For troubleshooting Function URL authorization issues, see: https://docs.aws.amazon.com/lambda/latest/dg/urls-auth.html',
  },
];
const TOKEN_INVALID = refusal('UnrecognizedClientException', 'The security token included in the request is invalid.');
const MISMATCH = refusal(
  'InvalidSignatureException',
  'The request signature we calculated does not match the signature you provided. Check your AWS Secret Access Key and signing method. Consult the service documentation for details.',
);

let invocations = 0;
let functionUrl: FunctionUrl;

beforeAll(async () => {
  functionUrl = await startFunctionUrl({
    handler: async () => ++invocations,
    callers: [PLAIN, SESSION, NO_POLICY],
    port: 0,
    now: () => DATE.getTime(),
  });
});
afterAll(() => functionUrl.close());

describe('the Function URL answers as AWS does', () => {
  it.each([
    ['a request without a signature', {}, FORBIDDEN],
    ['a bearer token', { authorization: 'Bearer abc' }, missing('Credential', 'Signature', 'SignedHeaders')],
    [
      'an authorization with gaps',
      { authorization: 'AWS4-HMAC-SHA256 Credential=a/b/c/d/e, Signature=' },
      missing('Signature', 'SignedHeaders'),
    ],
  ])('%s', async (_what, headers, expected) => {
    expect(await answer({ 'x-amz-date': '20261121T061600Z', ...headers })).toEqual(expected);
  });

  it.each([
    ['a role that no policy lets in', NO_POLICY, FORBIDDEN],
    ['a key that does not exist', { ...PLAIN, accessKeyId: 'AKIDOTHER' }, TOKEN_INVALID],
    ['a wrong secret access key', { ...PLAIN, secretAccessKey: 'wrong' }, MISMATCH],
    ['a missing session token', { ...SESSION, sessionToken: undefined }, TOKEN_INVALID],
    ['a wrong session token', { ...SESSION, sessionToken: 'other' }, TOKEN_INVALID],
    ['a session token for a key that has none', { ...PLAIN, sessionToken: 'token' }, TOKEN_INVALID],
  ])('%s', async (_what, credentials, expected) => {
    expect(await answer(await signed({ credentials }))).toEqual(expected);
  });

  it.each([
    ['another region', { region: 'eu-west-1' }, "Credential should be scoped to a valid region, not 'eu-west-1'. "],
    ['another service', { service: 'execute-api' }, "Credential should be scoped to correct service: 'lambda'. "],
    [
      'another region and service',
      { region: 'eu-west-1', service: 'execute-api' },
      "Credential should be scoped to a valid region, not 'eu-west-1'. Credential should be scoped to correct service: 'lambda'. ",
    ],
  ])('a signature for %s', async (_what, scope, message) => {
    expect(await answer(await signed({ scope }))).toEqual(refusal('InvalidSignatureException', message));
  });

  it.each([
    [
      '05:00:00, too old',
      '2026-11-21T05:00:00Z',
      'Signature expired: 20261121T050000Z is now earlier than 20261121T061100Z (20261121T061600Z - 5 min.)',
    ],
    [
      '07:00:00, too new',
      '2026-11-21T07:00:00Z',
      'Signature not yet current: 20261121T070000Z is still later than 20261121T062100Z (20261121T061600Z + 5 min.)',
    ],
  ])('a signature of %s', async (_what, date, message) => {
    expect(await answer(await signed({ date: new Date(date) }))).toEqual(refusal('InvalidSignatureException', message));
  });

  it.each<[what: string, change: (headers: SignedHeaders) => SignedHeaders, errorType: string, message: string]>([
    [
      'a scope of another day',
      authorization(/20261121/, '20261120'),
      'InvalidSignatureException',
      "Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date from HTTP: '20261120' != '20261121', from '20261121T061600Z'. ",
    ],
    [
      'another terminator',
      authorization(/aws4_request/, 'aws3_request'),
      'InvalidSignatureException',
      "Credential should be scoped with a valid terminator: 'aws4_request', not 'aws3_request'. ",
    ],
    [
      'a scope that is too short',
      authorization(/\/aws4_request/, ''),
      'IncompleteSignatureException',
      'Credential must have exactly 5 slash-delimited elements, e.g. keyid/date/region/service/term.',
    ],
    [
      'a scope that is too long',
      authorization(/\/aws4_request/, '/aws4_request/more'),
      'IncompleteSignatureException',
      'Credential must have exactly 5 slash-delimited elements, e.g. keyid/date/region/service/term.',
    ],
    [
      'a host that was not signed',
      authorization(/host;/, ''),
      'InvalidSignatureException',
      "'Host' or ':authority' must be a 'SignedHeader' in the AWS Authorization.",
    ],
    [
      'an x-amz header that was not signed',
      (headers) => ({ ...headers, 'X-Amz-Added': 'later' }),
      'InvalidSignatureException',
      "'x-amz-added' must be a 'SignedHeader' in the AWS Authorization.",
    ],
    [
      'no date',
      ({ 'x-amz-date': _, ...headers }) => headers,
      'IncompleteSignatureException',
      "Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' header.",
    ],
    ...['20261321T061600Z', '2026-11-21T06:16:00Z', 'yesterday'].map(
      (date): [string, (headers: SignedHeaders) => SignedHeaders, string, string] => [
        `the date ${date}`,
        (headers) => ({ ...headers, 'x-amz-date': date }),
        'IncompleteSignatureException',
        `Date must be in ISO-8601 'basic format'. Got '${date}'. See http://en.wikipedia.org/wiki/ISO_8601`,
      ],
    ),
  ])('%s', async (_what, change, errorType, message) => {
    expect(await answer(change(await signed()))).toEqual(refusal(errorType, message));
  });

  it('a signed header that is not sent', async () => {
    const { 'x-custom': _, ...headers } = await signed({ headers: { 'x-custom': 'here' } });
    expect(await answer(headers)).toEqual(MISMATCH);
  });
});

it('invokes nothing for a request that it refuses', async () => {
  const before = invocations;
  await answer(await signed({ credentials: NO_POLICY }));
  await answer({});
  expect(invocations).toBe(before);
  await answer(await signed());
  expect(invocations).toBe(before + 1);
});

interface Signing {
  readonly credentials?: {
    readonly accessKeyId: string;
    readonly secretAccessKey: string;
    sessionToken?: string | undefined;
  };
  readonly scope?: Partial<SigningScope>;
  readonly date?: Date;
  readonly headers?: Record<string, string>;
}

function signed({ credentials = PLAIN, scope, date = DATE, headers = {} }: Signing = {}): Promise<SignedHeaders> {
  const request = { method: 'POST', url: functionUrl.url, headers, body: '{}' };
  return sign('aws4fetch', request, credentials, date, { service: 'lambda', region: 'us-east-1', ...scope });
}

/** The status is the same for all of them. */
async function answer(headers: SignedHeaders) {
  const response = await send({ method: 'POST', url: functionUrl.url, headers, body: '{}' });
  if (response.status !== 403) return response;
  expect(response.headers).toMatchObject({
    'content-type': 'application/json',
    'x-amzn-requestid': expect.any(String),
  });
  return [response.headers['x-amzn-errortype'], JSON.parse(response.body)];
}

function refusal(errorType: string, message: string) {
  return [errorType, { message }];
}

/** AWS shows a hash of what it could not read, not the header. */
function missing(...parameters: readonly string[]) {
  const sentences = parameters.map((name) => `Authorization header requires '${name}' parameter. `).join('');
  const hashed = /\(Hashed with SHA-256 and encoded with Base64\) Authorization=[\w+/]{43}=$/.source;
  return refusal('IncompleteSignatureException', expect.stringMatching(new RegExp(`^${sentences}${hashed}`)));
}

function authorization(pattern: RegExp, replacement: string) {
  return (headers: SignedHeaders): SignedHeaders => ({
    ...headers,
    authorization: (headers.authorization ?? '').replace(pattern, replacement),
  });
}
