import { setTimeout } from 'node:timers/promises';
import {
  askForCaller,
  askForCheck,
  type Check,
  type CheckParameters,
  type IssuedToken,
  type TokenRequest,
} from './answers.ts';
import type { Caller } from './caller.ts';
import type { Connection } from './request.ts';
import {
  type AwsCredentials,
  createSigningClock,
  parseEndpoint,
  type ReadAwsCredentials,
  standardAwsCredentials,
} from './sign.ts';
import { type Waiting, within } from './single-flight.ts';
import { createCachingSource, createUncachedSource } from './token-source.ts';
import { fetchWithToken, useToken } from './with-token.ts';

export interface TokenBrokerOptions {
  /** The broker's Function URL. */
  readonly url: string;
  /** Where the Function URL is; read from its host when left out. */
  readonly region?: string | undefined;
  /** Signing credentials; a function is called again and again. The AWS SDK's standard chain when left out. */
  readonly credentials?: AwsCredentials | ReadAwsCredentials | undefined;
  /** By service the URLs of its APIs: only a 401 of one of these tells `TokenBroker.fetch` that a token was refused. */
  readonly services?: Readonly<Record<string, readonly string[]>> | undefined;
  /** `false`: ask the broker for every token anew. */
  readonly cache?: boolean | undefined;
  /** How often a request is sent at most, 4 when left out; 1: nothing is repeated, and this clock is trusted. */
  readonly maxAttempts?: number | undefined;
  /** How long one attempt may take; the default, 20 s, is longer than the broker itself can take. */
  readonly timeoutMs?: number | undefined;
  /** How long a call without a `deadline` may take, all attempts together; 30 s when left out. */
  readonly patienceMs?: number | undefined;
  /** Sends every request, those of `TokenBroker.fetch` too; Node's own when left out. */
  readonly fetch?: typeof globalThis.fetch | undefined;
  /** For tests: epoch milliseconds, the pause before a repetition, and a number from 0 to below 1. */
  readonly now?: (() => number) | undefined;
  readonly sleep?: ((ms: number, signal: AbortSignal) => Promise<unknown>) | undefined;
  readonly random?: (() => number) | undefined;
}

/** How long a call may take. */
export interface CallOptions {
  /** Ends the waiting; the error is `aborted`, with the signal's reason as its cause. */
  readonly signal?: AbortSignal | undefined;
  /** When the waiting ends at the latest: epoch milliseconds. */
  readonly deadline?: number | undefined;
}

export interface TokenOptions extends TokenRequest, CallOptions {}

export interface UseOptions extends Omit<TokenRequest, 'refused'>, CallOptions {}

export interface CheckOptions extends CheckParameters, CallOptions {}

export interface TokenBroker {
  /** A token of one client on one service, which lives long enough to be used. @throws TokenBrokerError */
  readonly token: (options: TokenOptions) => Promise<IssuedToken>;
  /** Runs `use` with a token, and once more with the successor when it throws `TokenRefused`. @throws TokenBrokerError */
  readonly withToken: <Result>(
    options: UseOptions,
    use: (token: IssuedToken) => Result | Promise<Result>,
  ) => Promise<Result>;
  /**
   * `fetch` with `Authorization: Bearer`. After a 401 of a host that `services` names, the token is reported and the
   * request repeated once, unless the broker has no successor or the body is a stream or that of a `Request`: then the
   * 401 is the answer. A signal in `init` ends the waiting for the token, too.
   *
   * @throws TokenBrokerError without a token; TypeError without TLS or a bearer token; the errors of `fetch`
   */
  readonly fetch: (
    input: Parameters<typeof globalThis.fetch>[0],
    init: RequestInit | undefined,
    options: UseOptions,
  ) => Promise<Response>;
  /** Whether the credential of one client works on one service. @throws TokenBrokerError when the broker cannot say */
  readonly check: (options: CheckOptions) => Promise<Check>;
  /** Which role signs the requests, and what the broker's access rules allow it. @throws TokenBrokerError */
  readonly whoami: (options?: CallOptions) => Promise<Caller>;
}

/**
 * The way to a token broker; make one and share it: it remembers the tokens. It sends nothing before its first call.
 *
 * @throws TypeError when `url` is missing, or `url`, `region` or `services` cannot be used
 */
export function createTokenBroker(options: TokenBrokerOptions): TokenBroker {
  const connection = connectionOf(options);
  const { patienceMs = 30_000, cache = true, credentials } = options;
  const { now, fetch } = connection;
  const source = cache ? createCachingSource(connection, credentials === undefined) : createUncachedSource(connection);
  const origins = originsOf(options.services ?? {});

  const waitingOf = ({ signal, deadline = now() + patienceMs }: CallOptions): Waiting => ({ signal, deadline });
  // The time that a token is used for is no part of the wait for its successor.
  const tokensOf = (request: UseOptions) => (refused?: string) => source({ ...request, refused }, waitingOf(request));
  return {
    token: async (request) => source(request, waitingOf(request)),
    withToken: (request, use) => useToken(tokensOf(request), use),
    fetch: (input, init, request) => {
      const signal = request.signal ?? init?.signal ?? (input instanceof Request ? input.signal : undefined);
      const service = { fetch, origins: origins.get(request.service) };
      return fetchWithToken(tokensOf({ ...request, signal }), service, [input, init]);
    },
    check: (request) => within(now, waitingOf(request), (limits) => askForCheck(connection, request, limits)),
    whoami: (options = {}) => within(now, waitingOf(options), (limits) => askForCaller(connection, limits)),
  };
}

function originsOf(services: NonNullable<TokenBrokerOptions['services']>): ReadonlyMap<string, ReadonlySet<string>> {
  const originOf = (url: string, service: string) => {
    if (URL.canParse(url)) return new URL(url).origin;
    throw new TypeError(`services: what is named for ${service} must be URLs such as https://insights.example.com`);
  };
  const entries = Object.entries(services);
  return new Map(entries.map(([service, urls]) => [service, new Set(urls.map((url) => originOf(url, service)))]));
}

function connectionOf(options: TokenBrokerOptions): Connection {
  // A caller without types finds out here, not at its first call.
  if (!options?.url) {
    const example = '{ url: "https://<id>.lambda-url.<region>.on.aws/" }';
    throw new TypeError(`createTokenBroker needs the url of the broker, its Function URL: ${example}`);
  }
  const { url, region, credentials = standardAwsCredentials(), now = Date.now } = options;
  return {
    endpoint: parseEndpoint(url, region),
    credentials: typeof credentials === 'function' ? credentials : async () => credentials,
    clock: createSigningClock(now),
    now,
    fetch: options.fetch ?? globalThis.fetch,
    timeoutMs: options.timeoutMs ?? 20_000,
    maxAttempts: options.maxAttempts ?? 4,
    sleep: options.sleep ?? ((ms, signal) => setTimeout(ms, undefined, { signal })),
    random: options.random ?? Math.random,
  };
}
