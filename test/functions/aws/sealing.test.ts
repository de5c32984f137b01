import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import {
  createSealer,
  type SealedPublication,
  type Sealer,
  type StoredSeal,
} from '../../../functions/aws/sealing/sealing.ts';
import type { Pair } from '../../../functions/broker/pair/pair.ts';
import type { Publication } from '../../../functions/broker/pair/store.ts';
import { Redacted } from '../../../functions/broker/redacted.ts';
import { examplePublication, exampleToken, revealed } from '../../support/pair-examples.ts';
import { exampleKey, keysOf } from '../../support/pair-table.ts';

const ACME: Pair = { client: 'acme', service: 'customer-insights' };
const sealer = createSealer({ environment: 'dev', keys: keysOf(exampleKey()) });

describe('sealing a token', () => {
  it('gives back everything that was sealed', async () => {
    const publication = {
      ...examplePublication(exampleToken({ passThrough: { naïve: ['…', 1.5, null] }, refusalIsIdle: true })),
      earlyRefusals: 1,
      assumedLifetimeMs: 150_000,
    };
    const opened = await sealer.open(ACME, await seal(publication));
    if (typeof opened === 'string') throw new Error(opened);
    expect({ ...opened, token: revealed(opened.token) }).toEqual({
      ...publication,
      token: revealed(publication.token),
    });
  });

  it('hides the token, its scope and what is passed through', async () => {
    const secret = 'marked-secret-value';
    const token = exampleToken({ accessToken: new Redacted(secret), scope: secret, passThrough: { secret } });
    const { bytes, visible } = await seal(examplePublication(token));
    expect(`${JSON.stringify(visible)}${Buffer.from(bytes).toString('latin1')}`).not.toContain(secret);
    expect(Object.keys(visible).toSorted()).toEqual(
      [
        ...['assumedLifetimeMs', 'credentialVersion', 'earlyRefusals', 'expirySource', 'expiresAt', 'fingerprint'],
        ...['issuedAt', 'lifetimeSeenMs', 'refreshAt', 'refusalIsIdle', 'tokenType'],
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
    const keyless = createSealer({ environment: 'dev', keys: keysOf() });
    expect(await keyless.hasKey()).toBe(false);
    expect(await keyless.seal(ACME, examplePublication())).toBeUndefined();
    expect(await sealer.hasKey()).toBe(true);
  });
});

describe('opening what is not as it was sealed', () => {
  it.each<[string, Pair]>([
    ['client', { ...ACME, client: 'globex' }],
    ['service', { ...ACME, service: 'merchant-payment-cleansing' }],
    ['client and service, shifted', { client: 'acme/customer', service: 'insights' }],
  ])('takes it for broken under another %s', async (_what, pair) => {
    expect(await sealer.open(pair, await seal())).toBe('broken');
  });

  it('takes it for broken in another environment, even if that has the same key', async () => {
    const prod = createSealer({ environment: 'prod', keys: keysOf(exampleKey()) });
    expect(await prod.open(ACME, await seal())).toBe('broken');
  });

  it('takes it for broken when the key of that version is another', async () => {
    const other = keysOf(exampleKey('key-1', 'another sealing key for tests, long enough'));
    expect(await createSealer({ environment: 'dev', keys: other }).open(ACME, await seal())).toBe('broken');
  });

  it.each<[string, Partial<SealedPublication['visible']>]>([
    ['fingerprint', { fingerprint: 'fedcba9876543210' }],
    ['credentialVersion', { credentialVersion: 'v2' }],
    ['tokenType', { tokenType: 'MAC' }],
    ['expirySource', { expirySource: 'assumed' }],
    ['issuedAt', { issuedAt: 1 }],
    ['expiresAt', { expiresAt: exampleToken().expiresAt + 1 }],
    ['refreshAt', { refreshAt: exampleToken().refreshAt + 1 }],
    ['refusalIsIdle', { refusalIsIdle: true }],
    ['lifetimeSeenMs', { lifetimeSeenMs: 1 }],
    ['earlyRefusals', { earlyRefusals: 1 }],
    ['assumedLifetimeMs', { assumedLifetimeMs: 1 }],
  ])('takes it for broken with another %s', async (_name, altered) => {
    const sealed = await seal();
    expect(await sealer.open(ACME, { ...sealed, visible: { ...sealed.visible, ...altered } })).toBe('broken');
  });

  it('takes it for broken when visible values are missing', async () => {
    expect(await sealer.open(ACME, { ...(await seal()), visible: undefined })).toBe('broken');
  });

  it('takes it for broken when any bit is different, for foreign where that makes another format', async () => {
    const sealed = await seal();
    for (let bit = 0; bit < sealed.bytes.length * 8; bit++) {
      const found = await sealer.open(ACME, { ...sealed, bytes: flipped(sealed.bytes, bit) });
      expect(found, `bit ${bit}`).toBe(bit < 8 ? 'foreign' : 'broken');
    }
  });

  it('takes it for broken at any length but its own', async () => {
    const sealed = await seal();
    for (let length = 0; length < sealed.bytes.length; length++) {
      expect(await sealer.open(ACME, { ...sealed, bytes: sealed.bytes.subarray(0, length) })).toBe('broken');
    }
    expect(await sealer.open(ACME, { ...sealed, bytes: Buffer.concat([sealed.bytes, Buffer.of(0)]) })).toBe('broken');
  });

  it('takes it for broken when parts come from another token of the same pair', async () => {
    const [one, two] = [await seal(), await seal()];
    const mixed = Buffer.concat([one.bytes.subarray(0, 33), two.bytes.subarray(33)]);
    expect(await sealer.open(ACME, { ...one, bytes: mixed })).toBe('broken');
  });
});

describe('opening what somebody else sealed', () => {
  const older = exampleKey('key-1');
  const newer = exampleKey('key-2', 'the sealing key after its rotation');

  it('opens with the version that the record names, and seals with the current one', async () => {
    const before = createSealer({ environment: 'dev', keys: keysOf(older, newer) });
    const after = createSealer({ environment: 'dev', keys: keysOf(newer, older) });
    expect(await before.open(ACME, await seal(examplePublication(), after))).toMatchObject({
      lifetimeSeenMs: 3_600_000,
    });
    expect(await after.open(ACME, await seal(examplePublication(), before))).toMatchObject({
      lifetimeSeenMs: 3_600_000,
    });
    expect((await seal(examplePublication(), after)).keyVersion).toBe('key-2');
  });

  it('takes it for foreign when the key is unknown', async () => {
    const sealed = await seal(examplePublication(), createSealer({ environment: 'dev', keys: keysOf(newer) }));
    expect(await sealer.open(ACME, sealed)).toBe('foreign');
  });

  it('takes it for broken when it names a known key that did not seal it', async () => {
    const both = createSealer({ environment: 'dev', keys: keysOf(older, newer) });
    expect(await both.open(ACME, { ...(await seal()), keyVersion: 'key-2' })).toBe('broken');
  });

  it('takes a format that is not known for foreign, whatever its attributes', async () => {
    const next: StoredSeal = { bytes: Buffer.of(2, 1, 2, 3), keyVersion: 'key-1', visible: undefined };
    expect(await sealer.open(ACME, next)).toBe('foreign');
  });
});

async function seal(publication: Publication = examplePublication(), by: Sealer = sealer): Promise<SealedPublication> {
  const sealed = await by.seal(ACME, publication);
  if (sealed === undefined) throw new Error('there is no key');
  return sealed;
}

function flipped(bytes: Uint8Array, bit: number): Uint8Array {
  const copy = Uint8Array.from(bytes);
  copy[bit >> 3] = (copy[bit >> 3] ?? 0) ^ (1 << (bit & 7));
  return copy;
}
