import { createHash, createHmac, createSecretKey, type Hash, type Hmac } from 'node:crypto';

/** SHA-256 and HMAC of Node for the signer of AWS requests, which takes the hash of any platform. */
export class Sha256 {
  readonly #hash: Hash | Hmac;

  constructor(secret?: string | ArrayBuffer | ArrayBufferView) {
    // The signer's bytes are a Uint8Array. Without a key object Node takes four times as long.
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
