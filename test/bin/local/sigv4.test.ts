import { AwsV4Signer } from 'aws4fetch';
import { describe, expect, it } from 'vitest';
import { verifySigV4 } from '../../../bin/local/function-url/sigv4.ts';
import { type ReceivedRequest, sha256 } from '../../../bin/local/function-url/sigv4-canonical.ts';
import { sign } from '../../support/signers.ts';

const DATE = new Date('2015-08-30T12:36:00Z');
const KEY = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY' };
const VERIFIER = { service: 'service', region: 'us-east-1', keys: [KEY], now: () => DATE.getTime() };
const REQUEST = { method: 'GET', path: '/', query: '', headers: [], body: Buffer.of() };

describe('verifySigV4', () => {
  it.each([
    ['get-vanilla', '', '5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31'],
    [
      'get-vanilla-query-order-key-case',
      'Param2=value2&Param1=value1',
      'b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500',
    ],
  ])('agrees with the signature that AWS publishes for %s', (_name, query, signature) => {
    const headers = [
      ['Host', 'example.amazonaws.com'],
      ['X-Amz-Date', '20150830T123600Z'],
      [
        'Authorization',
        'AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, ' +
          `SignedHeaders=host;x-amz-date, Signature=${signature}`,
      ],
    ] as const;
    expect(verifySigV4({ ...REQUEST, query, headers }, VERIFIER)).toBe(KEY);
  });

  it('takes a header that is sent twice for one with both values', async () => {
    const headers = await signedHeaders({ 'x-twice': 'one,other' });
    const sentTwice = headers.flatMap(([name, value]) =>
      name === 'x-twice' ? value.split(',').map((part) => [name, `  ${part}\t`] as const) : [[name, value] as const],
    );
    expect(sentTwice).toHaveLength(headers.length + 1);
    expect(verifySigV4({ ...REQUEST, headers: sentTwice }, VERIFIER)).toBe(KEY);
  });

  it('keeps the order in which a repeated header was sent', async () => {
    const headers = await signedHeaders({ 'x-twice': 'one,other' });
    const swapped = headers.map(([name, value]) => [name, name === 'x-twice' ? 'other,one' : value] as const);
    expect(() => verifySigV4({ ...REQUEST, headers: swapped }, VERIFIER)).toThrow('does not match');
  });

  it('takes the bytes of a header for what they are', async () => {
    const headers = await signedHeaders({ 'x-text': 'à' });
    const onTheWire = headers.map(([name, value]) => [name, Buffer.from(value, 'utf8').toString('latin1')] as const);
    expect(verifySigV4({ ...REQUEST, headers: onTheWire }, VERIFIER)).toBe(KEY);
  });

  it('refuses a body that is not the one x-amz-content-sha256 names, even if the signature fits the body', async () => {
    const claims = async (bodyHash: string): Promise<ReceivedRequest> => {
      const signed = await new HonestSigner({ ...SIGNING, headers: { 'x-amz-content-sha256': bodyHash } }).sign();
      return { ...REQUEST, headers: [...signed.headers, ['host', 'example.com']] };
    };
    expect(verifySigV4(await claims(sha256(Buffer.of())), VERIFIER)).toBe(KEY);
    const lie = await claims('UNSIGNED-PAYLOAD');
    expect(() => verifySigV4(lie, VERIFIER)).toThrow('does not match');
  });
});

const SIGNING = {
  ...KEY,
  url: 'http://example.com/',
  service: 'service',
  region: 'us-east-1',
  datetime: '20150830T123600Z',
};

/** Signs the hash of the body whatever the header says; signers that are not after anything take the header's word. */
class HonestSigner extends AwsV4Signer {
  override async hexBodyHash(): Promise<string> {
    return sha256(Buffer.of());
  }
}

async function signedHeaders(headers: Record<string, string>) {
  const request = { method: 'GET', url: 'http://example.com/', headers, body: '' };
  return Object.entries(await sign('@smithy/signature-v4', request, KEY, DATE, VERIFIER));
}
