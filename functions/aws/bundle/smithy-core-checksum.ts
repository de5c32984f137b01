import { createHash, createHmac, createSecretKey, type Hash, type Hmac, type KeyObject } from 'node:crypto';

/**
 * Stands in bundles for `@smithy/core/checksum`, with what signing needs of it. That one brings SHA-256 and more in
 * JavaScript along, for a Node without cryptography.
 */
export class Sha256 {
  readonly digestLength = 32;
  readonly #secret: Source | undefined;
  #hash: Hash | Hmac;

  constructor(secret?: Source) {
    this.#secret = secret;
    this.#hash = this.#start();
  }

  update(data: Source): void {
    this.#hash.update(toBytes(data));
  }

  async digest(): Promise<Uint8Array> {
    return this.#hash.digest();
  }

  reset(): void {
    this.#hash = this.#start();
  }

  #start(): Hash | Hmac {
    return this.#secret === undefined ? createHash('sha256') : createHmac('sha256', toKey(this.#secret));
  }
}

type Source = string | ArrayBuffer | ArrayBufferView;

/** Node takes four times as long for bytes that are not made a key of first. */
function toKey(secret: Source): string | KeyObject {
  const bytes = toBytes(secret);
  return typeof bytes === 'string' ? bytes : createSecretKey(bytes);
}

function toBytes(data: Source): string | Uint8Array {
  if (typeof data === 'string') return data;
  return ArrayBuffer.isView(data)
    ? new Uint8Array(data.buffer, data.byteOffset, data.byteLength)
    : new Uint8Array(data);
}
