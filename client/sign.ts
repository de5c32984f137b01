import { Sha256 } from '@aws-crypto/sha256-js';
import { SignatureV4 } from '@smithy/signature-v4';
import { isLoopback } from '../functions/vocabulary.ts';
import { failure } from './error.ts';

export interface Signing {
  readonly endpoint: Endpoint;
  readonly credentials: ReadAwsCredentials;
  readonly clock: Pick<SigningClock, 'now'>;
}

/** The headers of one signed POST of JSON to the broker. @throws TokenBrokerError `aws-credentials-unavailable` */
export async function sign(signing: Signing, path: string, body: string): Promise<Readonly<Record<string, string>>> {
  const { protocol, hostname, host } = signing.endpoint.url;
  const credentials = await readCredentials(signing.credentials);
  const signer = new SignatureV4({ service: 'lambda', region: signing.endpoint.region, credentials, sha256: Sha256 });
  const accept = 'application/json, application/problem+json';
  const unsigned = { host, 'content-type': 'application/json', accept };
  const { headers } = await signer.sign(
    { method: 'POST', protocol, hostname, path, headers: unsigned, body },
    { signingDate: new Date(signing.clock.now()) },
  );
  const { host: _writtenByFetch, ...sent } = headers;
  return sent;
}

/** The AWS credentials that requests are signed with; the AWS SDK's credentials have this shape. */
export interface AwsCredentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string | undefined;
}

/** Gives the current AWS credentials; it is called often, so it caches and renews them itself. */
export type ReadAwsCredentials = () => Promise<AwsCredentials>;

/** Reads AWS credentials that a header can carry. @throws TokenBrokerError `aws-credentials-unavailable` */
export async function readCredentials(read: ReadAwsCredentials) {
  const fail = (cause: unknown) => Promise.reject(failure('aws-credentials-unavailable', '', { cause }));
  const { accessKeyId, secretAccessKey, sessionToken } = await Promise.resolve().then(read).catch(fail);
  // `fetch` quotes a header value that it cannot send in its message: a bad session token must not reach it.
  const isUsable = (part: unknown) => typeof part === 'string' && /^[\x21-\x7e]+$/.test(part);
  if (![accessKeyId, secretAccessKey, sessionToken || 'none'].every(isUsable)) {
    const what = 'a part of them is empty or holds a space or a character beyond ASCII';
    throw failure('aws-credentials-unavailable', what);
  }
  return { accessKeyId, secretAccessKey, ...(sessionToken && { sessionToken }) };
}

/** The standard chain of the AWS SDK (environment, profile, SSO, container, instance), loaded when first needed. */
export function standardAwsCredentials(): ReadAwsCredentials {
  let chain: Promise<ReadAwsCredentials> | undefined;
  return async () => {
    chain ??= import('@aws-sdk/credential-provider-node').then(({ defaultProvider }) => defaultProvider());
    return (await chain)();
  };
}

/** The time that requests are signed with: this machine's, corrected by AWS's answers. */
export type SigningClock = ReturnType<typeof createSigningClock>;

/** @param now epoch milliseconds */
export function createSigningClock(now: () => number) {
  let offsetMs = 0;
  let heardOffsetMs = 0;
  return {
    now: () => now() + offsetMs,
    offsetMs: () => offsetMs,
    /** Notes the `Date` header of an answer. */
    hear: (date: string | null) => {
      const told = Date.parse(date ?? '');
      heardOffsetMs = Number.isNaN(told) ? offsetMs : told - now();
    },
    /** Takes over the time that was heard last; tells whether signatures change enough to try again. */
    correct: () => {
      const isWorthIt = Math.abs(heardOffsetMs - offsetMs) >= WORTH_CORRECTING_MS;
      if (isWorthIt) offsetMs = heardOffsetMs;
      return isWorthIt;
    },
  };
}

/** AWS takes signatures that are up to five minutes off. */
const WORTH_CORRECTING_MS = 60_000;

/** Where the broker is and for which region requests to it are signed. */
export interface Endpoint {
  readonly url: URL;
  readonly region: string;
}

/** Reads the broker's address; throws a `TypeError` that says what to give instead. */
export function parseEndpoint(text: string, givenRegion: string | undefined): Endpoint {
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
  const region = givenRegion ?? regionOf(url);
  if (!region) {
    throw new TypeError('the URL does not tell the AWS region of the broker: give the region, or set AWS_REGION');
  }
  if (!/^[a-z0-9]+(-[a-z0-9]+)+$/.test(region)) throw new TypeError('the AWS region must look like eu-west-1');
  return { url, region };
}

/** Whether requests to the URL stay secret on their way: TLS, or this machine only. */
export function isSafe(url: URL): boolean {
  return url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(url.hostname));
}

/** The host of a Function URL names its region; AWS_REGION says where the caller runs, which may be elsewhere. */
function regionOf(url: URL): string | undefined {
  // The local broker verifies for this region, also when the developer has set another one.
  if (isLoopback(url.hostname)) return 'us-east-1';
  return /^[^.]+\.lambda-url\.([^.]+)\.on\./.exec(url.hostname)?.[1] ?? process.env.AWS_REGION;
}
