import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import { describe, expect, it } from 'vitest';
import { type Item, readToken, tokenAttributes } from '../../../../functions/aws/pair-table/item.ts';
import { createSealer, type SealedToken, type Sealer } from '../../../../functions/aws/sealing/sealing.ts';
import type { StoredToken } from '../../../../functions/broker/pair/record.ts';
import type { Pair } from '../../../../functions/broker/pair.ts';
import { Redacted } from '../../../../functions/broker/redacted.ts';
import { exampleToken, revealed } from '../../../support/pair/pair-examples.ts';
import { exampleKey, keysOf } from '../../../support/pair/pair-table.ts';
import golden from './sealed-format-1.json' with { type: 'json' };

const ACME: Pair = { client: 'acme', service: 'customer-insights' };
const sealer = createSealer('dev', keysOf(exampleKey()));

it('never seals alike twice', async () => {
  const sealed = await Promise.all(Array.from({ length: 50 }, () => seal()));
  expect(new Set(sealed.map(({ bytes }) => Buffer.from(bytes.subarray(33)).toString('hex'))).size).toBe(50);
});

describe('a sealed token that was changed does not open', () => {
  const older = exampleKey('key-1');
  const newer = exampleKey('key-2', 'the sealing key after its rotation');

  it.each([
    ['under another client', sealer, { ...ACME, client: 'globex' }],
    ['under another client and service, shifted', sealer, { client: 'acme/customer', service: 'insights' }],
    ['in another environment, even if that has the same key', createSealer('prod', keysOf(older))],
    ['with another key of that version', createSealer('dev', keysOf(exampleKey('key-1', newer.version.repeat(9))))],
    ['when the key is unknown', createSealer('dev', keysOf(newer))],
  ])('%s', async (_when, other, pair = ACME) => {
    expect(await other.open(pair, await seal())).toBeUndefined();
  });

  it('at any length but its own', async () => {
    const sealed = await seal();
    const all = Buffer.concat([sealed.bytes, Buffer.of(0)]);
    for (let length = 0; length <= all.length; length++) {
      const opened = await sealer.open(ACME, { ...sealed, bytes: all.subarray(0, length) });
      expect(opened !== undefined).toBe(length === sealed.bytes.length);
    }
  });

  it('of a format that is not known, and reads no key for it', async () => {
    const asked: string[] = [];
    const named = async (version: string) => void asked.push(version);
    const curious = createSealer('dev', { ...keysOf(older), named });
    const { bytes, ...rest } = await seal();
    const next = { ...rest, bytes: Buffer.concat([Buffer.of(2), bytes.subarray(1)]) };
    expect(await curious.open(ACME, next)).toBeUndefined();
    expect(asked).toEqual([]);
  });

  it('but with the version that the record names, whichever is the current one', async () => {
    const [before, after] = [createSealer('dev', keysOf(older, newer)), createSealer('dev', keysOf(newer, older))];
    const sealed = await seal(exampleToken(), after);
    expect(sealed.keyVersion).toBe('key-2');
    expect(await before.open(ACME, sealed)).toMatchObject({ lifetimeSeenMs: 3_600_000 });
    expect(await after.open(ACME, await seal(exampleToken(), before))).toMatchObject({ lifetimeSeenMs: 3_600_000 });
  });
});

describe('an item of which one bit is different', async () => {
  const sealed = await seal();
  const item: Item = defined(tokenAttributes(sealed));

  it.each(Object.keys(item))('opens no token when it is in "%s"', async (name) => {
    for (const flipped of flips(item[name])) {
      const read = readToken({ ...item, [name]: flipped })?.sealed;
      expect({ flipped, token: read && (await sealer.open(ACME, read)) }).toEqual({ flipped, token: undefined });
    }
  });

  /** The attribute with each of its bits turned, one at a time. */
  function* flips({ B, S }: AttributeValue = { S: '' }): Generator<AttributeValue> {
    const bytes = B ?? Buffer.from(S ?? '');
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      const copy = Buffer.from(bytes);
      copy[bit >> 3] = (copy[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      yield B ? { B: copy } : { S: copy.toString('latin1') };
    }
  }
});

/**
 * Two releases share one table, so each must open the other's tokens. A record that the first release of a format
 * has sealed is kept for good: a change that cannot open it, or seals it otherwise, is another format.
 */
describe('the golden record of format 1', () => {
  const { environment, pair, key, salt, token, attributes } = golden;
  const keys = keysOf(exampleKey(key.version, key.text));
  const fixed = createSealer(environment, keys, () => Buffer.from(salt, 'base64'));

  it('can be opened', async () => {
    const { token: visible, sealed } = attributes;
    const read = readToken({ token: visible, sealed: { B: Uint8Array.from(Buffer.from(sealed.B, 'base64')) } });
    const opened = read?.sealed && (await createSealer(environment, keys).open(pair, read.sealed));
    expect(revealed(opened)).toEqual(token);
  });

  it('equals the same token sealed anew, byte for byte', async () => {
    const accessToken = new Redacted(token.accessToken);
    const sealed = await fixed.seal(pair, { ...token, accessToken, expirySource: 'response' });
    const written = tokenAttributes(sealed);
    const bytes = Buffer.from(written.sealed?.B ?? []).toString('base64');
    expect({ ...written, sealed: { B: bytes } }).toEqual(attributes);
  });
});

/** Without the members that are there only by name. */
function defined(attributes: Readonly<Record<string, AttributeValue | undefined>>): Item {
  return Object.fromEntries(Object.entries(attributes).flatMap(([name, value]) => (value ? [[name, value]] : [])));
}

async function seal(token: StoredToken = exampleToken(), by: Sealer = sealer): Promise<SealedToken> {
  const sealed = await by.seal(ACME, token);
  if (sealed === undefined) throw new Error('there is no key');
  return sealed;
}
