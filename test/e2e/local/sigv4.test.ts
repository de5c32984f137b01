import { createHash } from 'node:crypto';
import { AwsV4Signer } from 'aws4fetch';
import { expect, it } from 'vitest';
import { verifySigV4 } from '../../../local/function-url/sigv4.ts';
import type { ReceivedRequest } from '../../../local/loopback.ts';
import { sign } from '../../support/aws/signers.ts';

const DATE = new Date('2015-08-30T12:36:00Z');
const KEY = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY' };
const SCOPE = { service: 'service', region: 'us-east-1' };
const VERIFIER = { ...SCOPE, keys: [KEY], now: () => DATE.getTime() };
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
  const signed = await sign('@smithy/signature-v4', TO_SIGN, KEY, DATE, SCOPE);
  const headers = Object.entries(signed).map(([name, value]) => {
    return [name, Buffer.from(value, 'utf8').toString('latin1')] as const;
  });
  const request = { ...REQUEST, headers };
  expect(verifySigV4(request, VERIFIER)).toBe(KEY);
  expect(() => verifySigV4({ ...request, ...change(request) }, VERIFIER)).toThrow('does not match');
});

it('a body that is not the one of x-amz-content-sha256 is refused, even if the signature fits the body', async () => {
  const claims = async (bodyHash: string): Promise<ReceivedRequest> => {
    const headers = { 'x-amz-content-sha256': bodyHash };
    const when = { datetime: '20150830T123600Z', url: TO_SIGN.url };
    const signed = await new HonestSigner({ ...KEY, ...SCOPE, ...when, headers }).sign();
    return { ...REQUEST, headers: [...signed.headers, ['host', 'example.com']] };
  };
  expect(verifySigV4(await claims(NO_BODY), VERIFIER)).toBe(KEY);
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
