import { createHash } from 'node:crypto';
import { connect } from 'node:net';
import { AwsV4Signer } from 'aws4fetch';
import { expect, it, onTestFinished } from 'vitest';
import type { SigningKey } from '../../../functions/sigv4.ts';
import { createTables } from '../../../local/aws/dynamodb.ts';
import { createLogs } from '../../../local/aws/logs.ts';
import { createSecrets } from '../../../local/aws/secrets-manager.ts';
import { serveAws } from '../../../local/aws/server.ts';
import { verifySigV4 } from '../../../local/function-url/sigv4.ts';
import type { ReceivedRequest } from '../../../local/loopback.ts';
import { sign } from '../../support/aws/signers.ts';
import { EXAMPLE_KEY } from '../../support/processes/stand-ins.ts';
import { send } from '../../support/requests.ts';

const READER = { ...EXAMPLE_KEY, accessKeyId: 'AKIDREADER' };
const SESSION = { ...EXAMPLE_KEY, accessKeyId: 'ASIASESSION', sessionToken: 'session' };
const KEYS = [READER, SESSION];

/** What else a good signature is, function-url.test.ts shows. */
it('the stand-ins let in what their keys have signed for the service, and refuse the rest as AWS does', async () => {
  const { url } = await start();
  const answerTo = async (headers: Readonly<Record<string, string>>, target = 'secretsmanager') => {
    const sent = { 'x-amz-target': `${target}.Nothing`, ...headers };
    const { status, body } = await send({ method: 'POST', url: `${url}/`, headers: sent, body: '{}' });
    return `${status} ${/"__type":"(?:.*#)?(\w+)"/.exec(body)?.[1]}`;
  };
  const answerFor = async (key: SigningKey, service = 'secretsmanager', target = service) => {
    const request = { method: 'POST', url: `${url}/`, headers: { 'x-amz-target': `${target}.Nothing` }, body: '{}' };
    return answerTo(await sign(request, key, new Date(), { service, region: 'eu-west-1' }), target);
  };
  // A client that hangs up ends nothing.
  connect(Number(new URL(url).port), '127.0.0.1')
    .on('error', () => undefined)
    .end('POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 10\r\n\r\nhalf');

  for (const key of KEYS) expect(await answerFor(key)).toBe('400 UnknownOperationException');
  expect(await answerFor(READER, 'logs', 'Logs_20140328')).toBe('400 UnknownOperationException');
  expect(await answerFor(READER, 'dynamodb', 'DynamoDB_20120810')).toBe('404 undefined');
  const refused = [
    [await answerFor({ ...READER, accessKeyId: 'AKIDSTRANGER' }), 'UnrecognizedClientException'],
    [await answerFor({ ...READER, secretAccessKey: 'wrong' }), 'InvalidSignatureException'],
    [await answerFor(READER, 'sts', 'DynamoDB_20120810'), 'InvalidSignatureException'],
    [await answerTo({}), 'MissingAuthenticationTokenException'],
    [await answerTo({ authorization: 'AWS4-HMAC-SHA256' }), 'IncompleteSignatureException'],
  ];
  for (const [answer, type] of refused) expect(answer).toBe(`400 ${type}`);
});

it.each([
  ['JSON', 'lambda', {}, /^{"__type":"NoStandIn","message":"npm start stands in for .* env --unset\)\\" first\."}$/],
  ['JSON with another target', 'codedeploy', { 'x-amz-target': 'CodeDeploy_20141006.ListApplications' }, /^{"__type":/],
  ['a form', 'sts', { 'content-type': 'application/x-www-form-urlencoded' }, /^<ErrorResponse><Error><Code>NoStandIn</],
  ['XML', 's3', {}, /^<Error><Code>NoStandIn<\/Code><Message>npm start .*<\/Message><\/Error>$/],
])('a service of AWS that has no stand-in says in %s how to reach AWS', async (_, service, headers, answer) => {
  const request = { method: 'POST', url: `${(await start()).url}/`, headers, body: '' };
  const signed = await sign(request, READER, new Date(), { service, region: 'us-east-1' });
  const { status, body } = await send({ ...request, headers: { ...headers, ...signed } });
  expect({ status, body }).toEqual({ status: 400, body: expect.stringMatching(answer) });
  expect(body).toContain('token-broker -- env --unset');
});

it.each<readonly [operation: string, body: unknown, type: string]>([
  ['Nothing', {}, 'UnknownOperationException'],
  ['GetSecretValue', undefined, 'SerializationException'],
  ['GetSecretValue', ['a-value'], 'ValidationException'],
  ['GetSecretValue', { SecretId: 'a-value *' }, 'ValidationException'],
  ['PutSecretValue', { SecretId: 'acme', SecretString: ['a-value'] }, 'ValidationException'],
  ['FilterLogEvents', { logGroupName: 'broker', filterPattern: 'a-value' }, 'ValidationException'],
])('%s is refused with what it cannot use, and no value of it is repeated', async (operation, body, type) => {
  const [target, service] = operation === 'FilterLogEvents' ? ['Logs_20140328', 'logs'] : ['secretsmanager'];
  const headers = { 'content-type': 'application/x-amz-json-1.1', 'x-amz-target': `${target}.${operation}` };
  const request = { method: 'POST', url: `${(await start()).url}/`, headers, body: JSON.stringify(body) ?? '' };
  const scope = { service: service ?? target, region: 'us-east-1' };
  const answer = await send({
    ...request,
    headers: { ...headers, ...(await sign(request, READER, new Date(), scope)) },
  });
  expect({ status: answer.status, type: JSON.parse(answer.body).__type }).toEqual({ status: 400, type });
  expect(answer.body).not.toContain('a-value');
});

async function start() {
  const apis = [createSecrets(), createTables(), createLogs('broker')];
  const { url, close } = await serveAws(apis, { keys: KEYS });
  onTestFinished(close);
  return { url };
}

const DATE = new Date('2015-08-30T12:36:00Z');
const SCOPE = { service: 'service', region: 'us-east-1' };
const VERIFIER = { ...SCOPE, keys: [READER], now: () => DATE.getTime() };
const REQUEST = { method: 'GET', path: '/', query: '', body: Buffer.of() };
const HEADERS = { 'x-twice': 'one,other', 'x-text': 'undefined', 'x-bytes': 'à' };
const TO_SIGN = { method: 'GET', url: 'http://example.com/', headers: HEADERS, body: '' };

it.each<[what: string, change: (request: ReceivedRequest) => object]>([
  [
    'with the values of a repeated header in another order',
    ({ headers }) => ({ headers: headers.map(([name, value]) => [name, value.replace('one,other', 'other,one')]) }),
  ],
  [
    'without a signed header, whatever the header said',
    ({ headers }) => ({ headers: headers.filter(([name]) => name !== 'x-text') }),
  ],
  ['with a parameter that signing libraries leave out', () => ({ query: 'X-Amz-Signature=x' })],
])('a signature covers the bytes of a request, which is refused %s', async (_, change) => {
  const signed = await sign(TO_SIGN, READER, DATE, SCOPE);
  const headers = Object.entries({ host: 'example.com', ...signed }).map(([name, value]) => {
    return [name, Buffer.from(value, 'utf8').toString('latin1')] as const;
  });
  const request = { ...REQUEST, headers };
  expect(verifySigV4(request, VERIFIER)).toBe(READER);
  expect(() => verifySigV4({ ...request, ...change(request) }, VERIFIER)).toThrow('does not match');
});

it('a body that is not the one of x-amz-content-sha256 is refused, even if the signature fits the body', async () => {
  const claims = async (bodyHash: string): Promise<ReceivedRequest> => {
    const headers = { 'x-amz-content-sha256': bodyHash };
    const when = { datetime: '20150830T123600Z', url: TO_SIGN.url };
    const signed = await new HonestSigner({ ...READER, ...SCOPE, ...when, headers }).sign();
    return { ...REQUEST, headers: [...signed.headers, ['host', 'example.com']] };
  };
  expect(verifySigV4(await claims(NO_BODY), VERIFIER)).toBe(READER);
  const lie = await claims('UNSIGNED-PAYLOAD');
  expect(() => verifySigV4(lie, VERIFIER)).toThrow('does not match');
});

const NO_BODY = createHash('sha256').digest('hex');

/** Signs the real hash of the body; other signers take the hash from the header. */
class HonestSigner extends AwsV4Signer {
  override async hexBodyHash(): Promise<string> {
    return NO_BODY;
  }
}
