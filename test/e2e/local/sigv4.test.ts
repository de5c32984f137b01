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
    expect(() => verifySigV4({ ...REQUEST, headers: swapped }, VERIFIER)).toThrow('does not match');
  });

  it('refuses a request that has lost a signed header, whatever the header said', async () => {
    const headers = await signedHeaders({ 'x-text': 'undefined' });
    const lost = headers.filter(([name]) => name !== 'x-text');
    expect(verifySigV4({ ...REQUEST, headers }, VERIFIER)).toBe(KEY);
    expect(() => verifySigV4({ ...REQUEST, headers: lost }, VERIFIER)).toThrow('does not match');
  });

  it('reads the bytes of a header unchanged', async () => {
    const headers = await signedHeaders({ 'x-text': 'à' });
    const onTheWire = headers.map(([name, value]) => [name, Buffer.from(value, 'utf8').toString('latin1')] as const);
    expect(verifySigV4({ ...REQUEST, headers: onTheWire }, VERIFIER)).toBe(KEY);
  });

  it('covers a parameter that signing libraries leave out', async () => {
    const request = { ...REQUEST, headers: await signedHeaders({}) };
    expect(verifySigV4(request, VERIFIER)).toBe(KEY);
    expect(() => verifySigV4({ ...request, query: 'X-Amz-Signature=x' }, VERIFIER)).toThrow('does not match');
  });

  it('refuses a body that is not the one x-amz-content-sha256 names, even if the signature fits the body', async () => {
    const claims = async (bodyHash: string): Promise<ReceivedRequest> => {
      const headers = { 'x-amz-content-sha256': bodyHash };
      const when = { datetime: '20150830T123600Z', url: 'http://example.com/' };
      const signed = await new HonestSigner({ ...KEY, ...SCOPE, ...when, headers }).sign();
      return { ...REQUEST, headers: [...signed.headers, ['host', 'example.com']] };
    };
    expect(verifySigV4(await claims(NO_BODY), VERIFIER)).toBe(KEY);
    const lie = await claims('UNSIGNED-PAYLOAD');
    expect(() => verifySigV4(lie, VERIFIER)).toThrow('does not match');
  });
});

const NO_BODY = createHash('sha256').digest('hex');

/** Signs the real hash of the body; other signers take the hash from the header. */
class HonestSigner extends AwsV4Signer {
  override async hexBodyHash(): Promise<string> {
    return NO_BODY;
  }
}

async function signedHeaders(headers: Record<string, string>) {
  const request = { method: 'GET', url: 'http://example.com/', headers, body: '' };
  return Object.entries(await sign('@smithy/signature-v4', request, KEY, DATE, VERIFIER));
}
