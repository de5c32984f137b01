import { setTimeout } from 'node:timers/promises';
import {
  askForCaller,
  askForCheck,
  askForToken,
  type Check,
  type CheckParameters,
  type IssuedToken,
  type TokenRequest,
} from './answers.ts';
import { assertArgument } from './arguments.ts';
import type { Caller } from './caller.ts';
import { TokenBrokerError } from './error.ts';
import type { Connection } from './request.ts';
import {
  type AwsCredentials,
  createSigningClock,
  parseEndpoint,
  type ReadAwsCredentials,
  standardAwsCredentials,
} from './sign.ts';
import { type Waiting, type WorkLimits, within } from './single-flight.ts';
import { createCachingSource, type TokenSource } from './token-source.ts';
import { fetchWithToken, useToken } from './with-token.ts';

export interface TokenBrokerOptions {
  /** The broker's Function URL. */
  readonly url: string;
  /** The region of the Function URL. Default: read from its host. */
  readonly region?: string | undefined;
  /** Signing credentials. A function is called for each token. Default: the AWS SDK's standard chain. */
  readonly credentials?: AwsCredentials | ReadAwsCredentials | undefined;
  /** The API URLs of each service. `TokenBroker.fetch` treats only their 401 as a refused token. */
  readonly services?: Readonly<Record<string, readonly string[]>> | undefined;
  /** `false`: asks the broker for every token. */
  readonly cache?: boolean | undefined;
  /** The maximum number of attempts, by default 4. With 1, nothing is repeated, and this clock is trusted. */
  readonly maxAttempts?: number | undefined;
  /** The limit for an attempt. Default: 20 s, which is longer than the broker can take. */
  readonly timeoutMs?: number | undefined;
  /** The limit for all attempts of a call without a `deadline`. Default: 30 s. */
  readonly patienceMs?: number | undefined;
  /** Sends every request, also those of `TokenBroker.fetch`. Default: Node's own. */
  readonly fetch?: typeof globalThis.fetch | undefined;
  /** Hooks for tests: epoch milliseconds, the pause before a repetition, and a number from 0 to below 1. */
  readonly now?: (() => number) | undefined;
  readonly sleep?: ((ms: number, signal: AbortSignal) => Promise<unknown>) | undefined;
  readonly random?: (() => number) | undefined;
}

/** The limits of a call. */
export interface CallOptions {
  /** Ends the wait. The error is `aborted`, or `signal-timeout` for `AbortSignal.timeout`. */
  readonly signal?: AbortSignal | undefined;
  /** The latest end of the wait: epoch milliseconds. */
  readonly deadline?: number | undefined;
}

export interface TokenOptions extends TokenRequest, CallOptions {}

export interface UseOptions extends Omit<TokenRequest, 'refused'>, CallOptions {}

export interface CheckOptions extends CheckParameters, CallOptions {}

export interface TokenBroker {
  /** Returns a client's token on a service, with enough life left to use it. @throws TokenBrokerError */
  readonly token: (options: TokenOptions) => Promise<IssuedToken>;
  /** Runs `use` with a token, and again with the successor after `TokenRefused`. @throws TokenBrokerError */
  readonly withToken: <Result>(
    options: UseOptions,
    use: (token: IssuedToken) => Result | Promise<Result>,
  ) => Promise<Result>;
  /**
   * Calls `fetch` with `Authorization: Bearer`. After a 401 of a host in `services`, reports the token and repeats the
   * request once. Returns the 401 if the broker has no successor, or if the body is a stream in `init` or a `Request`
   * with more than a mebibyte. A signal in `init` ends the wait for the token, too.
   *
   * @throws TokenBrokerError without a token, TypeError without TLS or a bearer token, and the errors of `fetch`
   */
  readonly fetch: (
    input: Parameters<typeof globalThis.fetch>[0],
    init: RequestInit | undefined,
    options: UseOptions,
  ) => Promise<Response>;
  /** Returns a `fetch` with the tokens of a pair, for a library that accepts a `fetch`. */
  readonly fetchFor: (options: UseOptions) => typeof globalThis.fetch;
  /** Returns whether a client's credential works on a service. @throws TokenBrokerError when the broker cannot say */
  readonly check: (options: CheckOptions) => Promise<Check>;
  /** Returns the role that signs the requests, and what the access rules allow it. @throws TokenBrokerError */
  readonly whoami: (options?: CallOptions) => Promise<Caller>;
}

/**
 * Creates a client of a token broker. Create it once and share it, because it caches the tokens. Sends nothing before
 * its first call.
 *
 * @throws TypeError when `url` is missing, when `url`, `region` or `services` cannot be used, or for an unknown option
 */
export function createTokenBroker(options: TokenBrokerOptions): TokenBroker {
  const connection = connectionOf(options);
  const { patienceMs = 30_000, cache = true, credentials } = options;
  const { now, fetch } = connection;
  const asking: TokenSource = cache
    ? createCachingSource(connection, credentials === undefined)
    : (request, waiting) => within(now, waiting, (limits) => askForToken(connection, request, limits));
  let renewal: Promise<unknown> | undefined;
  /** Reads expired AWS credentials anew, and works once more: a program may have rewritten the keys of a profile. */
  const anew = <Result>(work: () => Promise<Result>) => {
    const seen = renewal;
    return work().catch(async (error: unknown) => {
      const isExpired = error instanceof TokenBrokerError && error.type === 'aws-security-token-expired';
      if (!isExpired || typeof credentials === 'object' || connection.maxAttempts === 1) throw error;
      // Calls that were under way together share a renewal.
      if (seen === renewal) renewal = connection.credentials({ forceRefresh: true }).catch(() => undefined);
      await renewal;
      return work();
    });
  };
  const source: TokenSource = (request, waiting) => anew(() => asking(request, waiting));
  const origins = originsOf(options.services ?? {});

  const known = new Set([...origins.values()].flatMap((named) => [...named]));
  const warn = (origin: string, service: string) => {
    if (known.has(origin)) return;
    known.add(origin);
    const setting = `services: { ${JSON.stringify(service)}: [${JSON.stringify(origin)}] }`;
    process.emitWarning(`A 401 of ${origin} replaces no token without ${setting}`, 'TokenBrokerWarning');
  };

  const ask = <Result>(options: CallOptions, work: (limits: WorkLimits) => Promise<Result>) =>
    anew(() => within(now, waitingOf(options), work));
  const waitingOf = ({ signal, deadline = now() + patienceMs }: CallOptions): Waiting => ({ signal, deadline });
  // The time that a token is used for does not shorten the wait for its successor.
  const tokensOf = (request: UseOptions) => ({
    get: (refused?: string) => source({ ...request, refused }, waitingOf(request)),
    wait: async (ms: number) => {
      const waiting = waitingOf(request);
      const isInTime = now() + ms < waiting.deadline;
      if (isInTime) await within(now, waiting, ({ signal }) => connection.sleep(ms, signal));
      return isInTime;
    },
  });
  const broker: TokenBroker = {
    token: async (request) => {
      assertArgument(request, `${USE_MEMBERS} refused`, `token(${PAIR})`);
      return source(request, waitingOf(request));
    },
    withToken: async (request, use) => {
      const example = `withToken(${PAIR}, async ({ accessToken }) => { … })`;
      assertArgument(request, USE_MEMBERS, example);
      if (typeof use !== 'function') throw new TypeError(`a function is missing. Call ${example}`);
      return useToken(tokensOf(request), use);
    },
    fetch: async (input, init, request) => {
      assertArgument(request, USE_MEMBERS, `fetch(url, { method: "GET" }, ${PAIR})`);
      const { service } = request;
      const signal =
        request.signal ?? init?.signal ?? (typeof input === 'object' && 'signal' in input ? input.signal : undefined);
      const sending = { fetch, origins: origins.get(service), ignore: (origin: string) => warn(origin, service) };
      return fetchWithToken(tokensOf({ ...request, signal }), sending, [input, init]);
    },
    fetchFor: (request) => {
      assertArgument(request, USE_MEMBERS, `fetchFor(${PAIR})`);
      return (input, init) => broker.fetch(input, init, request);
    },
    check: (request) => ask(request, (limits) => askForCheck(connection, request, limits)),
    whoami: (options = {}) => ask(options, (limits) => askForCaller(connection, limits)),
  };
  return broker;
}

const PAIR = '{ client: "acme", service: "customer-insights" }';
const USE_MEMBERS = 'client service minTtl signal deadline';
const OPTIONS = 'url region credentials services cache maxAttempts timeoutMs patienceMs fetch now sleep random';

function originsOf(services: NonNullable<TokenBrokerOptions['services']>): ReadonlyMap<string, ReadonlySet<string>> {
  const originOf = (url: string, service: string) => {
    if (URL.canParse(url)) return new URL(url).origin;
    throw new TypeError(`services: the entries of ${service} must be URLs such as https://insights.example.com`);
  };
  const entries = Object.entries(services);
  const wrong = entries.find(([, urls]) => !Array.isArray(urls))?.[0];
  if (wrong) throw new TypeError(`services: ${wrong} takes a list of URLs: { ${wrong}: ["https://api.example.com"] }`);
  return new Map(entries.map(([service, urls]) => [service, new Set(urls.map((url) => originOf(url, service)))]));
}

function connectionOf(options: TokenBrokerOptions): Connection {
  // A caller without types gets the error here, not at its first call.
  if (!options?.url) {
    const example = '{ url: "https://<id>.lambda-url.<region>.on.aws/" }';
    throw new TypeError(`createTokenBroker needs the url of the broker, its Function URL: ${example}`);
  }
  assertArgument(options, OPTIONS, 'createTokenBroker({ url: "https://<id>.lambda-url.<region>.on.aws/" })');
  const { url, region, credentials = standardAwsCredentials(), now = Date.now } = options;
  return {
    endpoint: parseEndpoint(url, region),
    credentials: typeof credentials === 'function' ? credentials : async () => credentials,
    clock: createSigningClock(now),
    now,
    // Tests and tracing may replace it after the client was created.
    fetch: options.fetch ?? ((...call) => globalThis.fetch(...call)),
    timeoutMs: options.timeoutMs ?? 20_000,
    maxAttempts: options.maxAttempts ?? 4,
    sleep: options.sleep ?? ((ms, signal) => setTimeout(ms, undefined, { signal })),
    random: options.random ?? Math.random,
  };
}
