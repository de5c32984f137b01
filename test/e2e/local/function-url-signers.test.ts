import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type FunctionUrl, startFunctionUrl } from '../../../bin/local/function-url/server.ts';
import { hasSigner, type RequestToSign, SIGNERS, sign } from '../../support/aws/signers.ts';
import { send } from '../../support/requests.ts';

const DATE = new Date('2026-11-21T06:16:00Z');
const CALLER = {
  role: 'arn:aws:iam::111111111111:role/session',
  accessKeyId: 'ASIASESSION',
  secretAccessKey: 'session/secret+',
  sessionToken: 'IQoJb3JpZ2luX2VjE+/token==',
};

let clock = DATE.getTime();
let functionUrl: FunctionUrl;

beforeAll(async () => {
  const handler = async () => 'let in';
  functionUrl = await startFunctionUrl({ handler, callers: [CALLER], port: 0, now: () => clock });
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

  if (signer === 'botocore') return;
  it('is let in with a query whose sender left characters bare', async () => {
    const url = `${functionUrl.url}/?b=!*()/:&a=x+y&a-b=1&a=%7e`;
    expect(await status({ method: 'GET', url, headers: {}, body: '' })).toBe(200);
  });

  async function status(request: RequestToSign) {
    return (await send({ ...request, headers: await sign(signer, request, CALLER, DATE) })).status;
  }
});
