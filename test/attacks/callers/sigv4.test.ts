import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { Sha256Node } from '@smithy/core/checksum';
import { SignatureV4 } from '@smithy/signature-v4';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AwsError } from '../../../local/aws/aws-error.ts';
import { startFunctionUrl } from '../../../local/function-url/server.ts';
import { verifySigV4 } from '../../../local/function-url/sigv4.ts';
import type { LoopbackServer, ReceivedRequest } from '../../../local/loopback.ts';
import { type RequestToSign, runs, type SignedHeaders, sign, timestampOf } from '../../support/aws/signers.ts';
import { send } from '../../support/requests.ts';
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
const SCOPE = { service: 'lambda', region: 'us-east-1' };
const VERIFIER = { ...SCOPE, keys: [KEY], now: () => DATE.getTime() };
const hasBotocore = runs('python3', '-c', 'import botocore.auth');

let functionUrl: LoopbackServer;
beforeAll(async () => {
  const handler = async () => ({ statusCode: 200, body: 'let in' });
  functionUrl = await startFunctionUrl({ handler, callers: [KEY], port: 0, now: () => DATE.getTime() });
});
afterAll(() => functionUrl.close());

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

/** Three implementations of Signature Version 4 that know nothing of each other, nor of ours. */
const SIGNERS: readonly (readonly [name: string, (requests: readonly RequestToSign[]) => Promise<SignedHeaders[]>])[] =
  [
    ['botocore', signWithBotocore],
    ['aws4fetch', (requests) => Promise.all(requests.map((request) => sign(request, KEY, DATE)))],
    ['@smithy/signature-v4', (requests) => Promise.all(requests.map(signWithSmithy))],
  ];

describe.for(SIGNERS)('of 500 odd requests signed by %s', ([signer, signAll]) => {
  const isMissing = signer === 'botocore' && !hasBotocore;
  const missing = isMissing ? ' (skipped: python3 with botocore is not installed)' : '';
  const signed = async (requests: readonly RequestToSign[]) => {
    const headers = await signAll(requests);
    return requests.map((request, index) => ({ ...request, headers: headers[index] ?? {} }));
  };

  it.skipIf(missing)(`the verifier lets in every one, and none in which one byte has changed${missing}`, async () => {
    const requests = await signed(fc.sample(oddRequest(functionUrl.url), { numRuns: COUNT, seed: SEED }));
    const answers = await Promise.all(requests.map(send));
    expect(answers.filter(({ status, body }) => status !== 200 || body !== 'let in')).toEqual([]);

    const received = requests.map(asReceived);
    expect(letIn(received)).toHaveLength(COUNT);
    for (const [where, change] of CHANGES) {
      const random = seededRandom(SEED);
      expect([where, letIn(received.map((request) => change(request, random)))]).toEqual([where, []]);
    }
  });

  it.skipIf(missing).each([
    ...['/a/../path/./x/', '/..//path', '/path/..', '//'],
    // botocore signs such a query as it is.
    ...(signer === 'botocore' ? [] : ['/?b=!*()/:&a=x+y&a-b=1&a=%7e&c=%0a']),
  ])('the verifier lets in what AWS lets in: %s', async (path) => {
    const [request = expect.fail()] = await signed([
      { method: 'GET', url: functionUrl.url + path, headers: {}, body: '' },
    ]);
    expect(await send(request)).toMatchObject({ status: 200 });
  });
});

/** All at once, in one process. */
async function signWithBotocore(requests: readonly RequestToSign[]): Promise<SignedHeaders[]> {
  const how = { ...SCOPE, credentials: KEY, timestamp: timestampOf(DATE) };
  const toSign = requests.map(({ body, headers, ...request }) => {
    const withHost = { ...headers, host: new URL(request.url).host };
    return { ...request, ...how, headers: withHost, body: Buffer.from(body).toString('base64') };
  });
  const script = fileURLToPath(new URL('sign.py', import.meta.url));
  const options = { input: JSON.stringify(toSign), encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 } as const;
  return JSON.parse(execFileSync('python3', [script], options));
}

async function signWithSmithy({ method, url, headers, body }: RequestToSign): Promise<SignedHeaders> {
  const { protocol, host, hostname, pathname: path, searchParams } = new URL(url);
  const query = Object.fromEntries([...searchParams.keys()].map((name) => [name, searchParams.getAll(name)]));
  const request = { method, protocol, hostname, path, query, headers: { ...headers, host }, body };
  const signer = new SignatureV4({ ...SCOPE, credentials: KEY, sha256: Sha256Node });
  return (await signer.sign(request, { signingDate: DATE })).headers;
}

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

function asReceived({ method, url, headers, body }: RequestToSign): ReceivedRequest {
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

/** A request that signers and verifiers like to disagree about: odd, but legal on the wire. */
function oddRequest(origin: string): fc.Arbitrary<RequestToSign> {
  const part = fc.oneof(
    fc.string({ unit: 'grapheme', maxLength: 12 }).map(encode),
    fc.constantFrom("!'()*", 'a:b@c;d=e', '%25', '%2F', '%2B', 'caf%C3%A9', '%F0%9F%94%91', '~-._', '%20x%20y'),
  );
  const path = fc
    .array(fc.tuple(fc.constantFrom('/', '//', '/x'), part), { maxLength: 4 })
    .map((segments) => `/path${segments.flat().join('')}`);
  const parameter = fc.tuple(
    fc.constantFrom('q', 'Q', 'a', 'a-b', 'ab', '%C3%A9', '%20'),
    fc.constantFrom('=', ''),
    part,
  );
  const query = fc
    .array(parameter, { maxLength: 5 })
    .map((parameters) => ['query=1', ...parameters.map(([name, is, value]) => name + is + (is && queryEncode(value)))]);
  const headerText = fc.string({ unit: fc.constantFrom(...'aZ09 ,;="\'()/\t'), maxLength: 20 });
  return fc.record({
    method: fc.constantFrom('GET', 'POST', 'PUT', 'PATCH', 'DELETE'),
    url: fc.tuple(path, query).map(([path, query]) => `${origin}${path}?${query.join('&')}`),
    headers: fc
      .tuple(headerText, headerText)
      .map(([one, other]) => ({ 'X-Custom': `v${one}`, 'x-amz-meta-odd': other, 'content-type': 'text/plain' })),
    body: fc.oneof(fc.constant(''), fc.string({ unit: 'grapheme' }), fc.uint8Array({ maxLength: 64 })),
  });
}

/** RFC 3986: all but the unreserved characters. */
function encode(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);
}

/** In a query, characters that may stand bare are encoded as well: botocore signs them as they are. */
function queryEncode(part: string): string {
  return part.replace(/[^A-Za-z0-9._~%-]/g, encode);
}
