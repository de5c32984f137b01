import { Sha256 } from '@aws-crypto/sha256-js';
import { SignatureV4 } from '@smithy/signature-v4';
import type { ReadAwsCredentials } from './credentials.ts';
import type { Endpoint } from './endpoint.ts';
import { failure } from './error.ts';
import type { SigningClock } from './signing-clock.ts';

export interface Signing {
  readonly endpoint: Endpoint;
  readonly credentials: ReadAwsCredentials;
  readonly clock: Pick<SigningClock, 'now'>;
}

/**
 * The headers, signature included, of one POST of a JSON body to the broker.
 *
 * `x-amz-content-sha256` is always among them, so that the signature covers the body whoever verifies it.
 */
export async function sign(signing: Signing, path: string, body: string): Promise<Readonly<Record<string, string>>> {
  const { url, region } = signing.endpoint;
  const credentials = await usableCredentials(signing.credentials);
  const signer = new SignatureV4({ service: 'lambda', region, credentials, sha256: Sha256 });
  const unsigned = {
    method: 'POST',
    protocol: url.protocol,
    hostname: url.hostname,
    path,
    headers: { host: url.host, 'content-type': 'application/json', accept: ACCEPTED },
    body,
  };
  const { headers } = await signer.sign(unsigned, { signingDate: new Date(signing.clock.now()) });
  const { host: _writtenByFetch, ...sent } = headers;
  return sent;
}

const ACCEPTED = 'application/json, application/problem+json';

/** `fetch` quotes a header value that it cannot send in its message: a bad session token must not get that far. */
async function usableCredentials(read: ReadAwsCredentials) {
  const { accessKeyId, secretAccessKey, sessionToken } = await readCredentials(read);
  const parts = [accessKeyId, secretAccessKey, ...(sessionToken ? [sessionToken] : [])];
  if (!parts.every((part) => typeof part === 'string' && /^[\x21-\x7e]+$/.test(part))) {
    throw failure(
      'aws-credentials-unavailable',
      'a part of them is empty or holds a space or a character beyond ASCII',
    );
  }
  return { accessKeyId, secretAccessKey, ...(sessionToken && { sessionToken }) };
}

async function readCredentials(read: ReadAwsCredentials) {
  try {
    return await read();
  } catch (cause) {
    throw failure('aws-credentials-unavailable', '', { cause });
  }
}
