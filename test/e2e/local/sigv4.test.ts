import { createHash } from 'node:crypto';
import { AwsV4Signer } from 'aws4fetch';
import { describe, expect, it } from 'vitest';
import { verifySigV4 } from '../../../local/function-url/sigv4.ts';
import type { ReceivedRequest } from '../../../local/loopback.ts';
import { sign } from '../../support/aws/signers.ts';

const DATE = new Date('2015-08-30T12:36:00Z');
const KEY = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY' };
const SCOPE = { service: 'service', region: 'us-east-1' };
const VERIFIER = { ...SCOPE, keys: [KEY], now: () => DATE.getTime() };
const REQUEST = { method: 'GET', path: '/', query: '', headers: [], body: Buffer.of() };

describe('verifySigV4', () => {
  it('keeps the order in which a repeated header was sent', async () => {
    const headers = await signedHeaders({ 'x-twice': 'one,other' });
    const swapped = headers.map(([name, value]) => [name, name === 'x-twice' ? 'other,one' : value] as const);
    await expect(verifySigV4({ ...REQUEST, headers: swapped }, VERIFIER)).rejects.toThrow('does not match');
  });

  it('reads the bytes of a header unchanged', async () => {
    const headers = await signedHeaders({ 'x-text': 'à' });
    const onTheWire = headers.map(([name, value]) => [name, Buffer.from(value, 'utf8').toString('latin1')] as const);
    expect(await verifySigV4({ ...REQUEST, headers: onTheWire }, VERIFIER)).toBe(KEY);
  });

  it('refuses a body that is not the one x-amz-content-sha256 names, even if the signature fits the body', async () => {
    const claims = async (bodyHash: string): Promise<ReceivedRequest> => {
      const headers = { 'x-amz-content-sha256': bodyHash };
      const when = { datetime: '20150830T123600Z', url: 'http://example.com/' };
      const signed = await new HonestSigner({ ...KEY, ...SCOPE, ...when, headers }).sign();
      return { ...REQUEST, headers: [...signed.headers, ['host', 'example.com']] };
    };
    expect(await verifySigV4(await claims(NO_BODY), VERIFIER)).toBe(KEY);
    const lie = await claims('UNSIGNED-PAYLOAD');
    await expect(verifySigV4(lie, VERIFIER)).rejects.toThrow('does not match');
  });

  it.each(['X-Amz-Signature=x', 'x-amz-signature=', '__proto__=x', '%5F_proto__=x'])(
    'refuses the parameter %s, which the signing library would not cover',
    async (query) => {
      const headers = await signedHeaders({}, `?${query}`);
      await expect(verifySigV4({ ...REQUEST, query, headers }, VERIFIER)).rejects.toThrow('does not match');
      await expect(verifySigV4({ ...REQUEST, query: `${query}y`, headers }, VERIFIER)).rejects.toThrow('match');
    },
  );

  it.each([
    ['the path', { path: '/\xff' }],
    ['the query', { query: 'a=%ff' }],
    ['a parameter that is cut off', { query: 'a=%f' }],
  ])('refuses bytes that are not UTF-8 in %s, because signers sign text', async (_, change) => {
    const headers = await signedHeaders({});
    await expect(verifySigV4({ ...REQUEST, ...change, headers }, VERIFIER)).rejects.toThrow('does not match');
  });
});

const NO_BODY = createHash('sha256').digest('hex');

/** Signs the real hash of the body; other signers take the hash from the header. */
class HonestSigner extends AwsV4Signer {
  override async hexBodyHash(): Promise<string> {
    return NO_BODY;
  }
}

async function signedHeaders(headers: Record<string, string>, query = '') {
  const request = { method: 'GET', url: `http://example.com/${query}`, headers, body: '' };
  return Object.entries(await sign('@smithy/signature-v4', request, KEY, DATE, VERIFIER));
}
