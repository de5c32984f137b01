import { createHash, createHmac, createSecretKey, type Hash, type Hmac } from 'node:crypto';

/** For the SDK and its signer, which take the hash of any platform. */
export class Sha256 {
  readonly #hash: Hash | Hmac;

  constructor(secret?: string | ArrayBuffer | ArrayBufferView) {
    // The signer's bytes are a Uint8Array. Node takes four times as long for bytes that are not made a key of first.
    const key = typeof secret === 'object' ? createSecretKey(secret as Uint8Array) : secret;
    this.#hash = key === undefined ? createHash('sha256') : createHmac('sha256', key);
  }

  update(data: string | Uint8Array): void {
    this.#hash.update(data);
  }

  async digest(): Promise<Uint8Array> {
    return this.#hash.digest();
  }
}
