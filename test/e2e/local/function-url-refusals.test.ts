import { afterAll, beforeAll, expect, it } from 'vitest';
import { type FunctionUrl, startFunctionUrl } from '../../../bin/local/function-url/server.ts';
import { send } from '../../support/requests.ts';
import { type SignedHeaders, type SigningScope, sign } from '../../support/signers.ts';

const DATE = new Date('2026-11-21T06:16:00Z');
const ROLE = 'arn:aws:iam::111111111111:role/any';
const PLAIN = { role: ROLE, accessKeyId: 'AKIDPLAIN', secretAccessKey: 'plain-secret' };
const SESSION = { role: ROLE, accessKeyId: 'ASIASESSION', secretAccessKey: 'session-secret', sessionToken: 'token' };
const NO_POLICY = { role: ROLE, accessKeyId: 'AKIDNOPOLICY', secretAccessKey: 'no-policy-secret', mayInvoke: false };

const Message =
  'Forbidden. For troubleshooting Function URL authorization issues, see: https://docs.aws.amazon.com/lambda/latest/dg/urls-auth.html';
const FORBIDDEN = ['AccessDeniedException', { Message }];
const TOKEN_INVALID = refusal('UnrecognizedClientException', 'The security token included in the request is invalid.');
const MISMATCH = invalid(
  'The request signature we calculated does not match the signature you provided. Check your AWS Secret Access Key and signing method. Consult the service documentation for details.',
);
const FIVE_ELEMENTS = 'Credential must have exactly 5 slash-delimited elements, e.g. keyid/date/region/service/term.';
const REGION = "Credential should be scoped to a valid region, not 'eu-west-1'. ";
const SERVICE = "Credential should be scoped to correct service: 'lambda'. ";

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

it.each<readonly [what: string, headers: () => SignedHeaders | Promise<SignedHeaders>, expected: unknown]>([
  ['a request without a signature', () => ({}), FORBIDDEN],
  ['a bearer token', unsigned('Bearer abc'), missing('Credential', 'Signature', 'SignedHeaders')],
  ['gaps', unsigned('AWS4-HMAC-SHA256 Credential=a/b/c/d/e, Signature='), missing('Signature', 'SignedHeaders')],
  ['a role that no policy lets in', () => signed({ credentials: NO_POLICY }), FORBIDDEN],
  ['a key that does not exist', key({ ...PLAIN, accessKeyId: 'AKIDOTHER' }), TOKEN_INVALID],
  ['a wrong secret access key', key({ ...PLAIN, secretAccessKey: 'wrong' }), MISMATCH],
  ['a missing session token', key({ ...SESSION, sessionToken: undefined }), TOKEN_INVALID],
  ['a wrong session token', key({ ...SESSION, sessionToken: 'other' }), TOKEN_INVALID],
  ['a session token for a key that has none', key({ ...PLAIN, sessionToken: 'token' }), TOKEN_INVALID],
  ['another region', () => signed({ scope: { region: 'eu-west-1' } }), invalid(REGION)],
  ['another service', () => signed({ scope: { service: 'execute-api' } }), invalid(SERVICE)],
  ['both', () => signed({ scope: { region: 'eu-west-1', service: 'execute-api' } }), invalid(REGION + SERVICE)],
  [
    'a date that is too old',
    () => signed({ date: new Date('2026-11-21T05:00:00Z') }),
    invalid('Signature expired: 20261121T050000Z is now earlier than 20261121T061100Z (20261121T061600Z - 5 min.)'),
  ],
  [
    'a date that is too new',
    () => signed({ date: new Date('2026-11-21T07:00:00Z') }),
    invalid(
      'Signature not yet current: 20261121T070000Z is still later than 20261121T062100Z (20261121T061600Z + 5 min.)',
    ),
  ],
  [
    'a scope of another day',
    altered(/20261121/, '20261120'),
    invalid(
      "Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date from HTTP: '20261120' != '20261121', from '20261121T061600Z'. ",
    ),
  ],
  [
    'another terminator',
    altered(/aws4_request/, 'aws3_request'),
    invalid("Credential should be scoped with a valid terminator: 'aws4_request', not 'aws3_request'. "),
  ],
  ['a scope that is too short', altered(/\/aws4_request/, ''), incomplete(FIVE_ELEMENTS)],
  ['a scope that is too long', altered(/\/aws4_request/, '/aws4_request/more'), incomplete(FIVE_ELEMENTS)],
  [
    'a host that was not signed',
    altered(/host;/, ''),
    invalid("'Host' or ':authority' must be a 'SignedHeader' in the AWS Authorization."),
  ],
  [
    'an x-amz header that was not signed',
    async () => ({ ...(await signed()), 'X-Amz-Added': 'later' }),
    invalid("'x-amz-added' must be a 'SignedHeader' in the AWS Authorization."),
  ],
  [
    'no date',
    async () => without('x-amz-date', await signed()),
    incomplete("Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' header."),
  ],
  ...['20261321T061600Z', '2026-11-21T06:16:00Z', 'yesterday'].map(
    (date) =>
      [
        `the date ${date}`,
        async () => ({ ...(await signed()), 'x-amz-date': date }),
        incomplete(`Date must be in ISO-8601 'basic format'. Got '${date}'. See http://en.wikipedia.org/wiki/ISO_8601`),
      ] as const,
  ),
  [
    'a signed header that is not sent',
    async () => without('x-custom', await signed({ headers: { 'x-custom': 'here' } })),
    MISMATCH,
  ],
])('the Function URL refuses as AWS does, and invokes nothing: %s', async (_what, headers, expected) => {
  const before = invocations;
  const sent = await headers();
  const response = await send({ method: 'POST', url: functionUrl.url, headers: sent, body: '{}' });
  expect(response).toMatchObject({
    status: 403,
    headers: { 'content-type': 'application/json', 'x-amzn-requestid': expect.any(String) },
  });
  expect([response.headers['x-amzn-errortype'], JSON.parse(response.body)]).toEqual(expected);
  expect(invocations).toBe(before);

  await send({ method: 'POST', url: functionUrl.url, headers: await signed(), body: '{}' });
  expect(invocations).toBe(before + 1);
});

interface Signing {
  readonly credentials?: Omit<typeof PLAIN, 'role'> & { readonly sessionToken?: string | undefined };
  readonly scope?: Partial<SigningScope>;
  readonly date?: Date;
  readonly headers?: Record<string, string>;
}

function signed({ credentials = PLAIN, scope, date = DATE, headers = {} }: Signing = {}): Promise<SignedHeaders> {
  const request = { method: 'POST', url: functionUrl.url, headers, body: '{}' };
  return sign('aws4fetch', request, credentials, date, { service: 'lambda', region: 'us-east-1', ...scope });
}

function key(credentials: NonNullable<Signing['credentials']>) {
  return () => signed({ credentials });
}

function unsigned(authorization: string) {
  return () => ({ 'x-amz-date': '20261121T061600Z', authorization });
}

function altered(pattern: RegExp, replacement: string) {
  return async () => {
    const { authorization = '', ...headers } = await signed();
    return { ...headers, authorization: authorization.replace(pattern, replacement) };
  };
}

function without(name: string, { [name]: _, ...headers }: SignedHeaders): SignedHeaders {
  return headers;
}

function refusal(errorType: string, message: string) {
  return [errorType, { message }];
}

function invalid(message: string) {
  return refusal('InvalidSignatureException', message);
}

function incomplete(message: string) {
  return refusal('IncompleteSignatureException', message);
}

/** AWS shows a hash of what it could not read, not the header. */
function missing(...parameters: readonly string[]) {
  const sentences = parameters.map((name) => `Authorization header requires '${name}' parameter. `).join('');
  const hashed = /\(Hashed with SHA-256 and encoded with Base64\) Authorization=[\w+/]{43}=$/.source;
  return incomplete(expect.stringMatching(new RegExp(`^${sentences}${hashed}`)));
}
