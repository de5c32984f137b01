import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AwsError } from '../../../local/aws/aws-error.ts';
import { type FunctionUrl, startFunctionUrl } from '../../../local/function-url/server.ts';
import { verifySigV4 } from '../../../local/function-url/sigv4.ts';
import type { ReceivedRequest } from '../../../local/loopback.ts';
import { hasSigner, type RequestToSign, SIGNERS, type SignedHeaders, signAll } from '../../support/aws/signers.ts';
import { oddRequests, send } from '../../support/requests.ts';
import { seededRandom } from '../../support/seeded-random.ts';

const SEED = 8;
const COUNT = 500;
const DATE = new Date('2026-11-21T06:16:00Z');
const KEY = {
  role: 'arn:aws:iam::111111111111:role/session',
  accessKeyId: 'ASIASESSION',
  secretAccessKey: 'session-secret',
  sessionToken: 'IQoJb3JpZ2luX2VjE+/token==',
};
const VERIFIER = { service: 'lambda', region: 'us-east-1', keys: [KEY], now: () => DATE.getTime() };

let functionUrl: FunctionUrl;
beforeAll(async () => {
  const handler = async () => ({ statusCode: 200, body: 'let in' });
  functionUrl = await startFunctionUrl({ handler, callers: [KEY], port: 0, now: () => DATE.getTime() });
});
afterAll(() => functionUrl.close());

interface SignedRequest extends RequestToSign {
  readonly headers: SignedHeaders;
}

type Change = (request: ReceivedRequest, random: () => number) => ReceivedRequest;

const CHANGES: readonly (readonly [string, Change])[] = [
  ['the method', (request, random) => ({ ...request, method: oneLetterOff(request.method, random) })],
  ['the path', (request, random) => ({ ...request, path: oneLetterOff(request.path, random) })],
  ['the query', (request, random) => ({ ...request, query: oneLetterOff(request.query, random) })],
  ['the body', (request, random) => ({ ...request, body: oneByteOff(request.body, random) })],
  ['a signed header', inHeader('x-custom', oneLetterOff)],
  ['the host', inHeader('host', oneLetterOff)],
  ['the date', inHeader('x-amz-date', oneLetterOff)],
  ['the session token', inHeader('x-amz-security-token', oneLetterOff)],
  ['the key, the scope, the list of headers or the signature', inHeader('authorization', oneLetterOff)],
];

describe.for(SIGNERS)('of 500 odd requests signed by %s', (signer) => {
  let requests: readonly SignedRequest[];
  const missing = hasSigner(signer) ? '' : ' (skipped: python3 with botocore is not installed)';

  describe.skipIf(missing)(`the verifier${missing}`, () => {
    beforeAll(async () => {
      requests = await signed();
    });

    it('lets every one in', async () => {
      const answers = await Promise.all(requests.map(send));
      expect(answers.filter(({ status, body }) => status !== 200 || body !== 'let in')).toEqual([]);
    });

    it.each(CHANGES)('refuses every one in which one byte of %s has changed', (_, change) => {
      const random = seededRandom(SEED);
      const received = requests.map(asReceived);
      expect(letIn(received)).toHaveLength(COUNT);
      expect(letIn(received.map((request) => change(request, random)))).toEqual([]);
    });

    it.each([
      ...['/a/../path/./x/', '/..//path', '/path/..', '//'],
      // botocore signs such a query as it is.
      ...(signer === 'botocore' ? [] : ['/?b=!*()/:&a=x+y&a-b=1&a=%7e&c=%0a']),
    ])('lets in what AWS lets in: %s', async (path) => {
      const request = { method: 'GET', url: functionUrl.url + path, headers: {}, body: '' };
      const [headers = {}] = await signAll(signer, [request], KEY, DATE);
      expect(await send({ ...request, headers })).toMatchObject({ status: 200 });
    });
  });

  async function signed(): Promise<readonly SignedRequest[]> {
    const odd = oddRequests(functionUrl.url, COUNT, SEED);
    const headers = await signAll(signer, odd, KEY, DATE);
    return odd.map((request, index) => ({ ...request, headers: headers[index] ?? {} }));
  }
});

/** Those that the verifier takes. Only the signature tells: a fault of the verifier itself is thrown on. */
function letIn(requests: readonly ReceivedRequest[]): readonly ReceivedRequest[] {
  return requests.filter((request) => {
    try {
      return verifySigV4(request, VERIFIER) === KEY;
    } catch (error) {
      if (error instanceof AwsError) return false;
      throw error;
    }
  });
}

function asReceived({ method, url, headers, body }: SignedRequest): ReceivedRequest {
  const [path = '', ...query] = url.slice(functionUrl.url.length).split('?');
  const host = new URL(url).host;
  const sent = Object.entries({ host, ...headers }).map(([name, value]) => [name, latin1(value)] as const);
  return { method, path, query: query.join('?'), headers: sent, body: Buffer.from(body) };
}

/** The bytes of a header as Node reads them off the wire. */
function latin1(text: string): string {
  return Buffer.from(text, 'utf8').toString('latin1');
}

function inHeader(name: string, change: (value: string, random: () => number) => string): Change {
  return (request, random) => ({
    ...request,
    headers: request.headers.map(([own, value]) => [own, own.toLowerCase() === name ? change(value, random) : value]),
  });
}

/** Letters and digits only, and not just their case: another slash, space or `%2f` can mean the same request. */
function oneLetterOff(text: string, random: () => number): string {
  const places = [...text.matchAll(/[A-Za-z0-9]/g)].map(({ index }) => index);
  const at = places[Math.floor(random() * places.length)] ?? 0;
  const [own, other] = [text.charAt(at), 'aZ09'.charAt(Math.floor(random() * 4))];
  return text.slice(0, at) + (other.toLowerCase() === own.toLowerCase() ? 'b' : other) + text.slice(at + 1);
}

function oneByteOff(body: Uint8Array, random: () => number): Uint8Array {
  if (body.length === 0) return Uint8Array.of(0);
  const at = Math.floor(random() * body.length);
  return body.map((byte, index) => (index === at ? byte ^ (1 << Math.floor(random() * 8)) : byte));
}
