import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type FunctionUrl, startFunctionUrl } from '../../../bin/local/function-url/server.ts';
import { send } from '../../support/requests.ts';
import { hasSigner, type RequestToSign, runs, SIGNERS, sign } from '../../support/signers.ts';

const DATE = new Date('2026-11-21T06:16:00Z');

const PLAIN = {
  role: 'arn:aws:iam::111111111111:role/plain',
  accessKeyId: 'AKIDPLAIN',
  secretAccessKey: 'plain/secret+',
};
const SESSION = {
  role: 'arn:aws:iam::111111111111:role/session',
  accessKeyId: 'ASIASESSION',
  secretAccessKey: 'session-secret',
  sessionToken: 'IQoJb3JpZ2luX2VjE+/token==',
};

let clock = DATE.getTime();
let functionUrl: FunctionUrl;

beforeAll(async () => {
  functionUrl = await startFunctionUrl({
    handler: async ({ requestContext }) => requestContext.authorizer.iam.accessKey,
    callers: [PLAIN, SESSION],
    port: 0,
    now: () => clock,
  });
});
afterAll(() => functionUrl.close());

describe.for(SIGNERS)('a request signed by %s', (signer) => {
  const missing = hasSigner(signer) ? '' : ' (skipped: python3 with botocore is not installed)';

  describe.skipIf(missing)(`is judged as AWS judges it${missing}`, () => {
    it.each(['/a/../path/./x/', '/..//path', '/path/..', '//'])('let in with the path %s', async (path) => {
      expect(await status({ method: 'GET', url: functionUrl.url + path, headers: {}, body: '' })).toBe(200);
    });

    it.each([
      [-301, 403],
      [-300, 200],
      [300, 200],
      [301, 403],
    ])('within five minutes of its date, and refused a second later: %d s', async (seconds, expected) => {
      clock = DATE.getTime() + seconds * 1000;
      expect(await status({ method: 'POST', url: functionUrl.url, headers: {}, body: 'x' })).toBe(expected);
      clock = DATE.getTime();
    });
  });

  async function status(request: RequestToSign) {
    return (await send({ ...request, headers: await sign(signer, request, PLAIN, DATE) })).status;
  }
});

it.each(['aws4fetch', '@smithy/signature-v4'] as const)(
  'lets in a query whose sender left characters bare, signed by %s',
  async (signer) => {
    const request = { method: 'GET', url: `${functionUrl.url}/?b=!*()/:&a=x+y&a-b=1&a=%7e`, headers: {}, body: '' };
    expect(await send({ ...request, headers: await sign(signer, request, PLAIN, DATE) })).toMatchObject({
      status: 200,
    });
  },
);

describe.skipIf(!hasSigner('botocore'))('botocore (skipped if python3 with botocore is not installed)', () => {
  it('may put the time into an HTTP date header instead', async () => {
    const request = { method: 'GET', url: functionUrl.url, headers: { date: 'any' }, body: '' };
    const headers = await sign('botocore', request, PLAIN, DATE);
    expect(headers).not.toHaveProperty('X-Amz-Date');
    expect(await send({ ...request, headers })).toMatchObject({ status: 200 });
  });
});

const curl = runs('curl', '--version') && runs('curl', '--aws-sigv4', 'aws:amz', '--version');

describe.skipIf(!curl)(`curl --aws-sigv4${curl ? '' : ' (skipped: curl is not installed, or too old)'}`, () => {
  it.each([
    ['a GET', PLAIN, []],
    ['a JSON body', PLAIN, ['-H', 'content-type: application/json', '-d', '{"client":"acme"}']],
    ['a session token', SESSION, ['-H', `x-amz-security-token: ${SESSION.sessionToken}`, '-d', 'a=b']],
  ])('is let in with %s', async (_what, caller, options) => {
    const today = await startFunctionUrl({ handler: async () => 'let in', callers: [caller], port: 0 });
    const user = `${caller.accessKeyId}:${caller.secretAccessKey}`;
    const args = ['-s', '--aws-sigv4', 'aws:amz:us-east-1:lambda', '--user', user, ...options, `${today.url}/token`];
    try {
      expect(await run('curl', args)).toBe('let in');
    } finally {
      await today.close();
    }
  });
});

const run = async (command: string, args: readonly string[]) => (await promisify(execFile)(command, args)).stdout;
