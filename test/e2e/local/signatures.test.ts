import { connect } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { startDynamoDB } from '../../../local/aws/dynamodb.ts';
import { startLogs } from '../../../local/aws/logs.ts';
import { startSecretsManager } from '../../../local/aws/secrets-manager.ts';
import type { SigningKey } from '../../../local/function-url/sigv4.ts';
import type { LoopbackServer } from '../../../local/loopback.ts';
import { sign } from '../../support/aws/signers.ts';
import { EXAMPLE_KEY } from '../../support/processes/stand-ins.ts';
import { send } from '../../support/requests.ts';

const READER = { ...EXAMPLE_KEY, accessKeyId: 'AKIDREADER' };
const CALLER = { ...EXAMPLE_KEY, accessKeyId: 'AKIDCALLER', mayReadSecrets: false };
const SESSION = { ...EXAMPLE_KEY, accessKeyId: 'ASIASESSION', sessionToken: 'session' };
const KEYS = { keys: [READER, CALLER, SESSION] };

/** What a good signature is, function-url.test.ts and sigv4.test.ts show. */
it.each([
  ['Secrets Manager', 'secretsmanager', () => startSecretsManager(KEYS)],
  ['DynamoDB', 'dynamodb', () => startDynamoDB(KEYS)],
] as const)(
  'the stand-in for %s lets in what its keys have signed, and refuses the rest as AWS does',
  async (_, service, start) => {
    const url = await urlOf(start);
    const request = { method: 'POST', url: `${url}/`, headers: {}, body: '{}' };
    const answerTo = async (headers: Readonly<Record<string, string>>) => {
      const { status, body } = await send({ ...request, headers });
      return `${status} ${/"__type":"(?:.*#)?(\w+)"/.exec(body)?.[1]}`;
    };
    const answerFor = async (key: SigningKey) =>
      answerTo(await sign('aws4fetch', request, key, new Date(), { service, region: 'eu-west-1' }));
    // A client that hangs up ends nothing.
    connect(Number(new URL(url).port), '127.0.0.1')
      .on('error', () => undefined)
      .end('POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 10\r\n\r\nhalf');

    // Let in, but no operation is named.
    const letIn = service === 'dynamodb' ? '404 undefined' : '400 UnknownOperationException';
    for (const key of KEYS.keys) expect(await answerFor(key)).toBe(letIn);
    const refused = [
      [await answerFor({ ...READER, accessKeyId: 'AKIDSTRANGER' }), 'UnrecognizedClientException'],
      [await answerFor({ ...READER, secretAccessKey: 'wrong' }), 'InvalidSignatureException'],
      [await answerTo({}), 'MissingAuthenticationTokenException'],
      [await answerTo({ authorization: 'AWS4-HMAC-SHA256' }), 'IncompleteSignatureException'],
    ];
    for (const [answer, type] of refused) expect(answer).toBe(`400 ${type}`);
  },
);

it('the value of a secret is for a key whose role may read it, and not for a signature of another service', async () => {
  const url = await urlOf(async () => {
    const standIn = await startSecretsManager(KEYS);
    standIn.store.put('acme', 'marked-value');
    return standIn;
  });
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
  const [service, start] =
    operation === 'FilterLogEvents'
      ? (['logs', () => startLogs({ ...KEYS, logGroup: 'broker' })] as const)
      : (['secretsmanager', () => startSecretsManager(KEYS)] as const);
  const answer = await ask(await urlOf(start), `${service}.${operation}`, body);
  expect({ status: answer.status, type: JSON.parse(answer.body).__type }).toEqual({ status: 400, type });
  expect(answer.body).not.toContain('a-value');
});

async function urlOf(start: () => Promise<LoopbackServer>): Promise<string> {
  const { url, close } = await start();
  onTestFinished(close);
  return url;
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
