import { connect } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import type { SigningKey } from '../../../functions/sigv4.ts';
import { createTables } from '../../../local/aws/dynamodb.ts';
import { createLogs } from '../../../local/aws/logs.ts';
import { createSecrets } from '../../../local/aws/secrets-manager.ts';
import { serveAws } from '../../../local/aws/server.ts';
import { sign } from '../../support/aws/signers.ts';
import { EXAMPLE_KEY } from '../../support/processes/stand-ins.ts';
import { send } from '../../support/requests.ts';

const READER = { ...EXAMPLE_KEY, accessKeyId: 'AKIDREADER' };
const CALLER = { ...EXAMPLE_KEY, accessKeyId: 'AKIDCALLER', mayReadSecrets: false };
const SESSION = { ...EXAMPLE_KEY, accessKeyId: 'ASIASESSION', sessionToken: 'session' };
const KEYS = [READER, CALLER, SESSION];

/** What a good signature is, function-url.test.ts and sigv4.test.ts show. */
it.each([
  ['secretsmanager', 'secretsmanager'],
  ['dynamodb', 'DynamoDB_20120810'],
  ['logs', 'Logs_20140328'],
])(
  'the stand-in for %s lets in what its keys have signed, and refuses the rest as AWS does',
  async (service, target) => {
    const { url } = await start();
    const request = { method: 'POST', url: `${url}/`, headers: { 'x-amz-target': `${target}.Nothing` }, body: '{}' };
    const answerTo = async (headers: Readonly<Record<string, string>>) => {
      const { status, body } = await send({ ...request, headers: { ...request.headers, ...headers } });
      return `${status} ${/"__type":"(?:.*#)?(\w+)"/.exec(body)?.[1]}`;
    };
    const answerFor = async (key: SigningKey, of = service) =>
      answerTo(await sign('aws4fetch', request, key, new Date(), { service: of, region: 'eu-west-1' }));
    // A client that hangs up ends nothing.
    connect(Number(new URL(url).port), '127.0.0.1')
      .on('error', () => undefined)
      .end('POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 10\r\n\r\nhalf');

    const letIn = service === 'dynamodb' ? '404 undefined' : '400 UnknownOperationException';
    for (const key of KEYS) expect(await answerFor(key)).toBe(letIn);
    const refused = [
      [await answerFor({ ...READER, accessKeyId: 'AKIDSTRANGER' }), 'UnrecognizedClientException'],
      [await answerFor({ ...READER, secretAccessKey: 'wrong' }), 'InvalidSignatureException'],
      [await answerFor(READER, 'sts'), 'InvalidSignatureException'],
      [await answerTo({}), 'MissingAuthenticationTokenException'],
      [await answerTo({ authorization: 'AWS4-HMAC-SHA256' }), 'IncompleteSignatureException'],
    ];
    for (const [answer, type] of refused) expect(answer).toBe(`400 ${type}`);
  },
);

it.each([
  ['JSON', 'lambda', {}, /^{"__type":"NoStandIn","message":"npm start stands in for .* env --unset\)\\" first\."}$/],
  ['JSON with another target', 'codedeploy', { 'x-amz-target': 'CodeDeploy_20141006.ListApplications' }, /^{"__type":/],
  ['a form', 'sts', { 'content-type': 'application/x-www-form-urlencoded' }, /^<ErrorResponse><Error><Code>NoStandIn</],
  ['XML', 's3', {}, /^<Error><Code>NoStandIn<\/Code><Message>npm start .*<\/Message><\/Error>$/],
])('a service of AWS that has no stand-in says in %s how to reach AWS', async (_, service, headers, answer) => {
  const request = { method: 'POST', url: `${(await start()).url}/`, headers, body: '' };
  const signed = await sign('aws4fetch', request, READER, new Date(), { service, region: 'us-east-1' });
  const { status, body } = await send({ ...request, headers: { ...headers, ...signed } });
  expect({ status, body }).toEqual({ status: 400, body: expect.stringMatching(answer) });
  expect(body).toContain('token-broker -- env --unset');
});

it('the value of a secret is for a key whose role may read it, and not for a signature of another service', async () => {
  const { url, store } = await start();
  store.put('acme', 'marked-value');
  const read = (key: SigningKey, service?: string) =>
    ask(url, 'secretsmanager.GetSecretValue', { SecretId: 'acme' }, { key, service });

  expect(await read(READER)).toMatchObject({ status: 200, body: expect.stringContaining('marked-value') });
  const refusals = [await read(CALLER), await read(READER, 'lambda')];
  expect(refusals).toMatchObject([{ status: 400 }, { status: 400 }]);
  expect(JSON.stringify(refusals)).not.toContain('marked-value');
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
  const answer = await ask((await start()).url, `${target}.${operation}`, body, { service });
  expect({ status: answer.status, type: JSON.parse(answer.body).__type }).toEqual({ status: 400, type });
  expect(answer.body).not.toContain('a-value');
});

async function start() {
  const secrets = createSecrets();
  const { url, close } = await serveAws([secrets, createTables(), createLogs('broker')], { keys: KEYS });
  onTestFinished(close);
  return { url, store: secrets.store };
}

/** Calls an operation of a JSON service, signed for that service when none is named. */
async function ask(url: string, target: string, input: unknown, { key = READER, service }: Signature = {}) {
  const headers = { 'content-type': 'application/x-amz-json-1.1', 'x-amz-target': target };
  const request = { method: 'POST', url: `${url}/`, headers, body: JSON.stringify(input) ?? '' };
  const scope = { service: service ?? target.replace(/\..*/, ''), region: 'us-east-1' };
  return send({ ...request, headers: { ...headers, ...(await sign('aws4fetch', request, key, new Date(), scope)) } });
}

interface Signature {
  readonly key?: SigningKey;
  readonly service?: string | undefined;
}
