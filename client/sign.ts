import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { type SigningKey, signPost } from '../functions/sigv4.ts';
import { isLoopback } from '../functions/vocabulary.ts';
import { failure, safeCause } from './error.ts';

export interface Signing {
  readonly endpoint: Endpoint;
  readonly credentials: ReadAwsCredentials;
  readonly clock: Pick<SigningClock, 'now'>;
}

/** Returns the headers of a signed JSON POST to the broker. @throws TokenBrokerError `aws-credentials-unavailable` */
export async function sign({ endpoint, clock, ...signing }: Signing, path: string, body: string) {
  const credentials = await readCredentials(signing.credentials);
  const named = { 'content-type': 'application/json', accept: 'application/json, application/problem+json' };
  const how = { credentials, scope: [endpoint.region, 'lambda'], now: clock.now() } as const;
  const { host: _writtenByFetch, ...sent } = signPost(new URL(path, endpoint.url), named, body, how);
  return sent;
}

/** The AWS credentials that sign requests, in the shape of the AWS SDK. */
export interface AwsCredentials extends SigningKey {
  readonly expiration?: Date | undefined;
}

/**
 * Returns the current AWS credentials. The client calls it often, so it caches and renews them itself. `forceRefresh`
 * follows a refusal of expired credentials.
 */
export type ReadAwsCredentials = (options?: ReadOptions) => Promise<AwsCredentials>;

interface ReadOptions {
  readonly forceRefresh?: boolean;
  /** An option of the AWS SDK's providers, so that they fit. */
  readonly callerClientConfig?: never;
}

/**
 * Keeps the credentials of a provider that asks AWS at each call, such as `fromTemporaryCredentials`. Reads them anew
 * five minutes before their `expiration`. Wrap only a provider that always returns the same identity.
 */
export function keepAwsCredentials(read: ReadAwsCredentials): ReadAwsCredentials {
  let kept: { reading: Promise<AwsCredentials>; isRefreshing: boolean; freshUntil: number } | undefined;
  return (options) => {
    const now = Date.now();
    const isRefreshing = options?.forceRefresh === true;
    // Brokers that share a provider share its refresh.
    if (kept !== undefined && now < kept.freshUntil && (kept.isRefreshing || !isRefreshing)) return kept.reading;
    const reading = Promise.resolve().then(() => read(options));
    // Each read has its own end: the late end of an earlier read says nothing about its successor.
    const own = { reading, isRefreshing, freshUntil: now + READ_LIMIT_MS };
    const keepUntil = (end: number) => Object.assign(own, { isRefreshing: false, freshUntil: end });
    reading.then((credentials) => keepUntil(endOf(credentials) - EARLY_MS)).catch(() => keepUntil(0));
    kept = own;
    return reading;
  };
}

/** Returns the end of credentials in epoch milliseconds. Providers also name it as a text, a number or `null`. */
function endOf({ expiration }: AwsCredentials): number {
  return expiration == null ? Number.POSITIVE_INFINITY : new Date(expiration).getTime();
}

const EARLY_MS = 5 * 60_000;

/** A connection that died while Lambda was frozen may leave a read without an end. */
const READ_LIMIT_MS = 20_000;

/** Reads AWS credentials that a header can carry. @throws TokenBrokerError `aws-credentials-unavailable` */
export async function readCredentials(read: ReadAwsCredentials) {
  const { accessKeyId, secretAccessKey, sessionToken } = await Promise.resolve()
    .then(() => read())
    .catch(failWithCredentials);
  // `fetch` quotes an invalid header value in its message, so a bad session token must not reach it.
  const isUsable = (part: unknown) => typeof part === 'string' && /^[\x21-\x7e]+$/.test(part);
  if (![accessKeyId, secretAccessKey, sessionToken || 'none'].every(isUsable)) {
    const what = 'a part of them is empty, or contains a space or a character beyond ASCII';
    throw failure('aws-credentials-unavailable', what);
  }
  return { accessKeyId, secretAccessKey, ...(sessionToken && { sessionToken }) };
}

function failWithCredentials(error: unknown): never {
  const cause = safeCause(error);
  const isMissing = /^(ERR_)?MODULE_NOT_FOUND$/.test(cause.code ?? '');
  const reason = '$metadata' in Object(error) ? `AWS answered ${cause.message}` : credentialsReason(error);
  throw failure(isMissing ? 'aws-sdk-missing' : 'aws-credentials-unavailable', isMissing ? '' : reason, { cause });
}

/**
 * Loads the AWS SDK's standard chain when first needed: environment, profile, SSO, container, instance. The options are
 * the chain's. `credentialsReason` explains its failures.
 */
export function standardAwsCredentials(options: object = {}): ReadAwsCredentials {
  let heard = '';
  const hear = (text: string) => {
    heard += `${text}\n`;
  };
  const ignore = () => undefined;
  // The chain reports the failures of its sources only to a logger.
  const warn = (text: string) => process.emitWarning(text);
  const logger = { debug: hear, warn, info: ignore, error: ignore };
  const hearStatus = (message: unknown) => {
    const { request, response } = message as Answered;
    if (isOfCredentials(request.host)) hear(`status ${response.statusCode}`);
  };
  let chain: Promise<ReadAwsCredentials> | undefined;
  return async (properties) => {
    // The SDK otherwise keeps the files of profiles for the life of the process.
    const load = () => import('@aws-sdk/credential-provider-node');
    chain ??= load().then((sdk) => sdk.defaultProvider({ ignoreCache: true, logger, ...options }));
    const find = await chain;
    subscribe(ANSWERED, hearStatus);
    try {
      return await find(properties);
    } catch (error) {
      throw Object.assign(Object(error), { reason: credentialsReason(error, heard) });
    } finally {
      unsubscribe(ANSWERED, hearStatus);
      heard = '';
    }
  };
}

/** Node's channel for the answers to requests of `node:http`. */
const ANSWERED = 'http.client.response.finish';

interface Answered {
  readonly request: { readonly host: string };
  readonly response: { readonly statusCode: number };
}

/** Returns whether a host answers with the credentials of a container or an instance. */
function isOfCredentials(host: string): boolean {
  const container = URL.parse(process.env.AWS_CONTAINER_CREDENTIALS_FULL_URI ?? '')?.hostname;
  return host === container || /^169\.254\.|^\[?fd00:ec2:/.test(host);
}

/** Returns why there are no credentials, in our own words: the messages of the SDK may quote a secret. */
export function credentialsReason(error: unknown, heard = ''): string | undefined {
  const { reason, message = '' } = Object(error);
  const said = `${heard}${message}`;
  const [form = /^/, words] = REASONS.find(([known]) => known.test(said)) ?? [];
  return reason ?? (words && form.exec(said)?.[0].replace(form, words));
}

const REASONS: readonly (readonly [said: RegExp, words: string])[] = [
  [/invalid SSO cred|Conflicting SSO|Sso session '/, 'the SSO settings of the profile are incomplete'],
  [/SSO session|SSO token|session token not found/i, 'the session of `aws sso login` is missing or has expired'],
  [/^No access$/m, 'SSO gives you no access to this account and role'],
  [/aws login|Failed to load token from/, 'the session of `aws login` is missing or has expired'],
  [/multi-factor/, 'the profile requires MFA'],
  [/returned expired credentials/, 'the credential_process of the profile returned expired keys'],
  [/Command failed|credential_process returned/, 'the credential_process of the profile failed'],
  [/Detected a cycle/, 'the profiles name each other as their source'],
  [/Unsupported credential source/, 'the profile has an unknown credential_source'],
  [/URL not accepted/, 'AWS_CONTAINER_CREDENTIALS_FULL_URI is neither https nor the address of a container service'],
  [/using profile: \[(?!default\])([\w.@-]{1,64})\]/, 'the profile "$1" does not exist, or has no keys'],
  [/status ([3-5]\d\d)/, 'the credentials endpoint of the container or instance answered $1'],
  [/not valid JSON|required format|Invalid resp/, 'the credentials endpoint of the container or instance sent no keys'],
  [/ENOENT/, 'a file that the environment or the profile names is missing'],
  [/\b(E(?:CONN|HOST|NET)[A-Z]+|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|TimeoutError)\b/, 'their endpoint did not answer ($1)'],
  [/Region is missing/, 'no AWS region is set'],
];

/** The clock for signatures: this machine's time, corrected by AWS's answers. */
export type SigningClock = ReturnType<typeof createSigningClock>;

/** @param now epoch milliseconds */
export function createSigningClock(now: () => number) {
  let offsetMs = 0;
  let heardOffsetMs = 0;
  return {
    now: () => now() + offsetMs,
    offsetMs: () => offsetMs,
    /** Records the `Date` header of an answer. An unreadable date is NaN, which corrects nothing. */
    hear: (date: string | null) => {
      heardOffsetMs = Date.parse(date ?? '') - now();
    },
    /** Applies the last recorded time. Returns whether signatures change enough to try again. */
    correct: () => {
      const isWorthIt = Math.abs(heardOffsetMs - offsetMs) >= WORTH_CORRECTING_MS;
      if (isWorthIt) offsetMs = heardOffsetMs;
      return isWorthIt;
    },
  };
}

/** AWS accepts signatures that are up to five minutes off. */
const WORTH_CORRECTING_MS = 60_000;

/** The broker's URL and the region that requests are signed for. */
export interface Endpoint {
  readonly url: URL;
  readonly region: string;
}

/** Parses the broker's address. @throws TypeError that says what to write instead */
export function parseEndpoint(text: string, givenRegion: string | undefined): Endpoint {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !isSafe(url)) {
    throw new TypeError('the URL of the broker must start with https:// (http:// only on loopback)');
  }
  if (url.href !== `${url.origin}/`) {
    throw new TypeError('the URL of the broker must end after the host, and have no user name or password');
  }
  const region = givenRegion ?? regionOf(url);
  if (!region) {
    throw new TypeError('the URL does not name the AWS region of the broker: give the region, or set AWS_REGION');
  }
  if (!/^[a-z0-9]+(-[a-z0-9]+)+$/.test(region)) throw new TypeError('the AWS region must look like eu-west-1');
  return { url, region };
}

/** Returns whether requests to the URL stay secret on their way: TLS, or only this machine. */
export function isSafe(url: URL): boolean {
  return url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(url.hostname));
}

/** Reads the region from a Function URL's host. AWS_REGION is the caller's region, which may differ. */
function regionOf(url: URL): string | undefined {
  // The local broker verifies for this region, even if the developer has set another region.
  if (isLoopback(url.hostname)) return 'us-east-1';
  return /^[^.]+\.lambda-url\.([^.]+)\.on\./.exec(url.hostname)?.[1] ?? process.env.AWS_REGION;
}
