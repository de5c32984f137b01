import { createHash } from 'node:crypto';
import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import { describe, expect, it } from 'vitest';
import { readSeal, sealAttributes } from '../../../functions/aws/pair-table/item.ts';
import { createSealer, fingerprint, type SealedToken, type Sealer } from '../../../functions/aws/sealing/sealing.ts';
import type { Pair } from '../../../functions/broker/pair/pair.ts';
import type { StoredToken } from '../../../functions/broker/pair/record.ts';
import { Redacted } from '../../../functions/broker/redacted.ts';
import { exampleToken, revealed } from '../../support/pair-examples.ts';
import { exampleKey, keysOf } from '../../support/pair-table.ts';
import golden from './sealed-format-1.json' with { type: 'json' };

const ACME: Pair = { client: 'acme', service: 'customer-insights' };
const sealer = createSealer('dev', keysOf(exampleKey()));

describe('sealing a token', () => {
  it('gives back everything that was sealed', async () => {
    const token = exampleToken({ passThrough: { naïve: ['…', 1.5, null] }, sameTokenAgain: true });
    expect(revealed(await sealer.open(ACME, await seal(token)))).toEqual(revealed(token));
  });

  it('hides the token, its scope and what is passed through', async () => {
    const secret = 'marked-secret-value';
    const token = exampleToken({ accessToken: new Redacted(secret), scope: secret, passThrough: { secret } });
    const { bytes, visible } = await seal(token);
    expect(`${JSON.stringify(visible)}${Buffer.from(bytes).toString('latin1')}`).not.toContain(secret);
    expect(Object.keys(visible).toSorted()).toEqual(
      [
        ...['credentialVersion', 'expirySource', 'expiresAt', 'fingerprint', 'issuedAt', 'lifetimeSeenMs'],
        ...['refreshAt', 'sameTokenAgain', 'tokenType'],
      ].toSorted(),
    );
  });

  it('never seals alike twice', async () => {
    const digests = new Set<string>();
    for (let n = 0; n < 50; n++) {
      const { bytes } = await seal();
      digests.add(createHash('sha256').update(bytes.subarray(33)).digest('hex'));
    }
    expect(digests.size).toBe(50);
  });

  it('says so when there is no key', async () => {
    const keyless = createSealer('dev', keysOf());
    expect(await keyless.hasKey()).toBe(false);
    expect(await keyless.seal(ACME, exampleToken())).toBeUndefined();
    expect(await sealer.hasKey()).toBe(true);
  });
});

it('a fingerprint is the first 16 hexadecimal digits of the token’s SHA-256', () => {
  expect(fingerprint('abc')).toBe('ba7816bf8f01cfea');
});

describe('opening what is not as it was sealed', () => {
  it.each<[string, Pair]>([
    ['client', { ...ACME, client: 'globex' }],
    ['service', { ...ACME, service: 'merchant-payment-cleansing' }],
    ['client and service, shifted', { client: 'acme/customer', service: 'insights' }],
  ])('gives nothing under another %s', async (_what, pair) => {
    expect(await sealer.open(pair, await seal())).toBeUndefined();
  });

  it('gives nothing in another environment, even if that has the same key', async () => {
    const prod = createSealer('prod', keysOf(exampleKey()));
    expect(await prod.open(ACME, await seal())).toBeUndefined();
  });

  it('gives nothing when the key of that version is another', async () => {
    const other = keysOf(exampleKey('key-1', 'another sealing key for tests, long enough'));
    expect(await createSealer('dev', other).open(ACME, await seal())).toBeUndefined();
  });

  it('gives nothing at any length but its own', async () => {
    const sealed = await seal();
    for (let length = 0; length < sealed.bytes.length; length++) {
      expect(await sealer.open(ACME, { ...sealed, bytes: sealed.bytes.subarray(0, length) })).toBeUndefined();
    }
    expect(await sealer.open(ACME, { ...sealed, bytes: Buffer.concat([sealed.bytes, Buffer.of(0)]) })).toBeUndefined();
  });

  it('gives nothing when parts come from another token of the same pair', async () => {
    const [one, two] = [await seal(), await seal()];
    const mixed = Buffer.concat([one.bytes.subarray(0, 33), two.bytes.subarray(33)]);
    expect(await sealer.open(ACME, { ...one, bytes: mixed })).toBeUndefined();
  });
});

describe('opening what another environment sealed', () => {
  const older = exampleKey('key-1');
  const newer = exampleKey('key-2', 'the sealing key after its rotation');

  it('opens with the version that the record names, and seals with the current one', async () => {
    const before = createSealer('dev', keysOf(older, newer));
    const after = createSealer('dev', keysOf(newer, older));
    expect(await before.open(ACME, await seal(exampleToken(), after))).toMatchObject({
      lifetimeSeenMs: 3_600_000,
    });
    expect(await after.open(ACME, await seal(exampleToken(), before))).toMatchObject({
      lifetimeSeenMs: 3_600_000,
    });
    expect((await seal(exampleToken(), after)).keyVersion).toBe('key-2');
  });

  it('gives nothing when the key is unknown', async () => {
    const sealed = await seal(exampleToken(), createSealer('dev', keysOf(newer)));
    expect(await sealer.open(ACME, sealed)).toBeUndefined();
  });

  it('gives nothing when it names a known key that did not seal it', async () => {
    const both = createSealer('dev', keysOf(older, newer));
    expect(await both.open(ACME, { ...(await seal()), keyVersion: 'key-2' })).toBeUndefined();
  });

  it('gives nothing of a format that is not known, and reads no key for it', async () => {
    const asked: string[] = [];
    const named = async (version: string) => void asked.push(version);
    const curious = createSealer('dev', { ...keysOf(older), named });
    const next = { ...(await seal()), bytes: Buffer.concat([Buffer.of(2), (await seal()).bytes.subarray(1)]) };
    expect(await curious.open(ACME, next)).toBeUndefined();
    expect(asked).toEqual([]);
  });
});

/**
 * Two releases share one table, so what one of them seals the other must open. A record that the first release of a format
 * has sealed is kept for good: a change that cannot open it, or seals it otherwise, is another format.
 */
describe('the golden record of format 1', () => {
  const { environment, pair, key, salt, publication, attributes } = golden;
  const token = { ...publication.token, lifetimeSeenMs: publication.lifetimeSeenMs };
  const keys = keysOf(exampleKey(key.version, key.text));
  const fixed = createSealer(environment, keys, () => Buffer.from(salt, 'base64'));
  const item: Record<string, AttributeValue> = {
    ...attributes,
    sealedToken: { B: Uint8Array.from(Buffer.from(attributes.sealedToken.B, 'base64')) },
  };

  it('can be opened', async () => {
    const sealed = readSeal(item);
    if (sealed === undefined) throw new Error('the attributes are not read');
    const opened = await createSealer(environment, keys).open(pair, sealed);
    expect(revealed(opened)).toEqual(token);
  });

  it('is what the same token is sealed as, byte for byte', async () => {
    const accessToken = new Redacted(token.accessToken);
    const sealed = await fixed.seal(pair, { ...token, accessToken, expirySource: 'response' });
    const written = sealed && sealAttributes(sealed);
    expect({ ...written, sealedToken: { B: Buffer.from(written?.sealedToken?.B ?? []).toString('base64') } }).toEqual(
      attributes,
    );
  });
});

async function seal(token: StoredToken = exampleToken(), by: Sealer = sealer): Promise<SealedToken> {
  const sealed = await by.seal(ACME, token);
  if (sealed === undefined) throw new Error('there is no key');
  return sealed;
}
