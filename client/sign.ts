import { Sha256 } from '@aws-crypto/sha256-js';
import { SignatureV4 } from '@smithy/signature-v4';
import { failure } from './error.ts';

export interface Signing {
  readonly endpoint: Endpoint;
  readonly credentials: ReadAwsCredentials;
  readonly clock: Pick<SigningClock, 'now'>;
}

/**
 * The headers, signature included, of one POST of a JSON body to the broker.
 *
 * `x-amz-content-sha256` is always among them, so that the signature covers the body for every verifier.
 *
 * @throws TokenBrokerError `aws-credentials-unavailable`
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

/** The AWS credentials that requests are signed with; the AWS SDK's credentials have this shape. */
export interface AwsCredentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string | undefined;
}

/** Gives the current AWS credentials; it is called often, so it caches and renews them itself. */
export type ReadAwsCredentials = () => Promise<AwsCredentials>;

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

/** @throws TokenBrokerError `aws-credentials-unavailable` */
export async function readCredentials(read: ReadAwsCredentials): Promise<AwsCredentials> {
  try {
    return await read();
  } catch (cause) {
    throw failure('aws-credentials-unavailable', '', { cause });
  }
}

/** The standard chain of the AWS SDK (environment, profile, SSO, container, instance), loaded when first needed. */
export function standardAwsCredentials(): ReadAwsCredentials {
  let chain: Promise<ReadAwsCredentials> | undefined;
  return async () => {
    chain ??= import('@aws-sdk/credential-provider-node').then(({ defaultProvider }) => defaultProvider());
    return (await chain)();
  };
}

/** The time that requests are signed with: this machine's, corrected by what AWS says about it. */
export class SigningClock {
  readonly #now: () => number;
  #offsetMs = 0;

  /** @param now epoch milliseconds */
  constructor(now: () => number) {
    this.#now = now;
  }

  now(): number {
    return this.#now() + this.#offsetMs;
  }

  /** Takes over the time of an answer's `Date` header; tells whether that makes a difference to a signature. */
  correct(date: string | null | undefined): boolean {
    const told = Date.parse(date ?? '');
    if (Number.isNaN(told) || Math.abs(told - this.now()) < WORTH_CORRECTING_MS) return false;
    this.#offsetMs = told - this.#now();
    return true;
  }
}

/** AWS takes signatures that are up to five minutes off. */
const WORTH_CORRECTING_MS = 60_000;

/** Where the broker is and for which region requests to it are signed. */
export interface Endpoint {
  readonly url: URL;
  readonly region: string;
}

/** Reads the broker's address; throws a `TypeError` that says what to give instead. */
export function parseEndpoint(text: string, region: string | undefined): Endpoint {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !isSafe(url)) {
    throw new TypeError('the URL of the broker must start with https:// (http:// only on loopback)');
  }
  if (url.username !== '' || url.password !== '') {
    throw new TypeError('the URL of the broker must not contain a user name or password');
  }
  if (url.pathname !== '/' || url.search !== '' || url.hash !== '') {
    throw new TypeError('the URL of the broker must end after the host: no path, query or fragment');
  }
  return { url, region: parseRegion(region ?? regionOf(url)) };
}

/** Whether what is sent to the URL stays secret on its way: TLS, or this machine only. */
export function isSafe(url: URL): boolean {
  return url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(url));
}

function isLoopback({ hostname }: URL): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d+){3}$/.test(hostname);
}

function parseRegion(region: string | undefined): string {
  if (region === undefined || region === '') {
    throw new TypeError('the URL does not tell the AWS region of the broker: give the region, or set AWS_REGION');
  }
  if (!/^[a-z0-9]+(-[a-z0-9]+)+$/.test(region)) {
    throw new TypeError('the AWS region must look like eu-west-1');
  }
  return region;
}

/** The host of a Function URL names its region; AWS_REGION says where the caller runs, which may be elsewhere. */
function regionOf(url: URL): string | undefined {
  if (isLoopback(url)) return LOCAL_REGION;
  return /^[^.]+\.lambda-url\.([^.]+)\.on\./.exec(url.hostname)?.[1] ?? process.env.AWS_REGION;
}

/** The local broker verifies for this region, also when the developer has set another one. */
const LOCAL_REGION = 'us-east-1';
