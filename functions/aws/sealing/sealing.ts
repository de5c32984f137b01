import { createCipheriv, createDecipheriv, createSecretKey, hkdfSync, randomBytes } from 'node:crypto';
import type { StoredToken, VisibleToken } from '../../broker/pair/record.ts';
import type { Pair } from '../../broker/pair.ts';
import { Redacted } from '../../broker/redacted.ts';
import type { SealingKey, SealingKeys } from './sealing-key.ts';

export interface SealedToken {
  /** Format (1 byte), salt (32), ciphertext, tag (16). */
  readonly bytes: Uint8Array;
  readonly keyVersion: string;
  readonly visible: VisibleToken;
}

/** The plaintext. Only this code writes format 1, and the tag proves that it did. */
interface Hidden extends Pick<StoredToken, 'scope' | 'passThrough'> {
  readonly accessToken: string;
}

/**
 * Hides tokens from readers of the table who lack the sealing key. Each record has its own AES-256-GCM key, derived
 * with HKDF-SHA-256 (RFC 5869) from a random salt. Deadlines, for reading a key, are epoch milliseconds.
 */
export function createSealer(environment: string, keys: SealingKeys, randomSalt = () => randomBytes(SALT_BYTES)) {
  return {
    /** Returns whether there is a key. Without a key nothing can be sealed or opened. */
    hasKey: async (deadline?: number) => (await keys.current(deadline)) !== undefined,

    /** Returns `undefined` if there is no key. */
    async seal(pair: Pair, token: StoredToken, deadline?: number): Promise<SealedToken | undefined> {
      const key = await keys.current(deadline);
      if (key === undefined) return undefined;

      const { accessToken, scope, passThrough, ...visible } = token;
      const salt = randomSalt();
      const { recordKey, nonce } = derive(key, salt);
      const cipher = createCipheriv(CIPHER, recordKey, nonce, { authTagLength: TAG_BYTES });
      cipher.setAAD(additionalData(environment, pair, key, visible));
      const hidden = JSON.stringify({ accessToken: accessToken.reveal(), scope, passThrough } satisfies Hidden);
      const ciphertext = [cipher.update(hidden, 'utf8'), cipher.final()];
      const bytes = Buffer.concat([Buffer.of(FORMAT), salt, ...ciphertext, cipher.getAuthTag()]);
      return { bytes, keyVersion: key.version, visible };
    },

    /** Returns `undefined` unless a known key sealed it in this environment, for this pair, with these values. */
    async open(pair: Pair, { bytes, keyVersion, visible }: SealedToken, deadline?: number) {
      if (bytes[0] !== FORMAT || bytes.length < SALT_END + TAG_BYTES) return undefined;
      const key = await keys.named(keyVersion, deadline);
      if (key === undefined) return undefined;

      const { recordKey, nonce } = derive(key, bytes.subarray(1, SALT_END));
      const decipher = createDecipheriv(CIPHER, recordKey, nonce, { authTagLength: TAG_BYTES });
      decipher.setAAD(additionalData(environment, pair, key, visible));
      decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
      try {
        const text = decipher.update(bytes.subarray(SALT_END, -TAG_BYTES), undefined, 'utf8') + decipher.final('utf8');
        const { accessToken, scope, passThrough }: Hidden = JSON.parse(text);
        return { ...visible, accessToken: new Redacted(accessToken), scope, passThrough };
      } catch {
        return undefined;
      }
    },
  };
}

export type Sealer = ReturnType<typeof createSealer>;

/** A salt is never used twice, so neither is a pair of key and nonce. */
function derive({ material }: SealingKey, salt: Uint8Array) {
  const derived = Buffer.from(hkdfSync('sha256', material, salt, PURPOSE, KEY_BYTES + NONCE_BYTES));
  const recordKey = createSecretKey(derived.subarray(0, KEY_BYTES));
  const nonce = Buffer.from(derived.subarray(KEY_BYTES));
  derived.fill(0);
  return { recordKey, nonce };
}

/**
 * Encodes all values that must not be altered or swapped, so that no two lists look the same. Another order or number
 * of values is another format: a release could not open tokens that a release with another list has sealed.
 */
function additionalData(environment: string, { client, service }: Pair, key: SealingKey, visible: VisibleToken) {
  const { fingerprint, credentialVersion, tokenType, expirySource, issuedAt, expiresAt, refreshAt } = visible;
  const { sameTokenAgain, lifetimeSeenMs } = visible;
  return Buffer.from(
    JSON.stringify([
      ...[FORMAT, environment, client, service, key.version, credentialVersion, fingerprint, tokenType, expirySource],
      ...[issuedAt, expiresAt, refreshAt, sameTokenAgain, lifetimeSeenMs],
    ]),
  );
}

const FORMAT = 1;

const CIPHER = 'aes-256-gcm';
const PURPOSE = 'token-broker/pair-record';
const SALT_BYTES = 32;
const SALT_END = 1 + SALT_BYTES;
const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
