import { askForToken, type IssuedToken, type TokenRequest } from './answers.ts';
import { isRefusedAgain, TokenBrokerError } from './error.ts';
import type { Connection } from './request.ts';
import { type AwsCredentials, readCredentials } from './sign.ts';
import { SingleFlight, type Waiting, within } from './single-flight.ts';
import { remember, TokenCache } from './token-cache.ts';

/** Gives a token of a pair. @throws TokenBrokerError */
export type TokenSource = (request: TokenRequest, waiting: Waiting) => Promise<IssuedToken>;

/** Asks the broker for every token anew. */
export function createUncachedSource(connection: Connection): TokenSource {
  return (request, waiting) => within(connection.now, waiting, (limits) => askForToken(connection, request, limits));
}

/** One call, and what it is signed with. */
interface Call {
  readonly request: TokenRequest;
  readonly waiting: Waiting;
  readonly connection: Connection;
  /** Names the pair and the identity that signs: another identity may not have the token of this one. */
  readonly key: string;
}

/**
 * Hands a living token out again, and asks for one once, however many callers wait for it.
 *
 * Towards its end one caller asks for the successor while the others keep getting the token; that this fails is no
 * failure while the token lives. What the caller signs with is read for each call, unless it is the standard chain, which
 * gives one identity for the whole process. There are no timers and nothing runs when no caller waits: Lambda freezes processes.
 */
export function createCachingSource(connection: Connection, isStandardChain: boolean): TokenSource {
  const { now } = connection;
  const cache = new TokenCache(connection);
  const flights = new SingleFlight<IssuedToken>(now);
  /** By key: the flight that reports, or has reported, a refused token. */
  const reports = new Map<string, string>();
  /** By key: the last request for a longer life. */
  const minTtlRequests = new Map<string, { readonly at: number; readonly minTtl: number }>();
  let requests = 0;

  return async (request, waiting) => {
    const call = await callOf(request, waiting);
    const { key } = call;
    if (request.refused !== undefined) return replace(call);

    // Until the report ends, the cached token would be the refused one.
    const report = flights.running(reports.get(key) ?? '');
    if (report !== undefined) await within(now, waiting, () => report.catch(() => undefined));

    const cached = cache.recall(key);
    if (cached === undefined) return ask('ask', call);
    if (isTooShort(cached.token, request)) {
      const isAsking = flights.running(flightKey('renew', call)) !== undefined;
      return isAsking || mayAskForMinTtl(call) ? renew(call) : cached.token;
    }
    if (!cached.isDue) return cached.token;
    cache.postpone(key);
    return renew(call);
  };

  async function callOf(request: TokenRequest, waiting: Waiting): Promise<Call> {
    if (isStandardChain) return { request, waiting, connection, key: callKey(request, '') };
    const limit = { ...waiting, deadline: Math.min(waiting.deadline, now() + connection.timeoutMs) };
    const credentials = await within<AwsCredentials>(now, limit, () => readCredentials(connection.credentials));
    const signing = { ...connection, credentials: async () => credentials };
    return { request, waiting, connection: signing, key: callKey(request, credentials.accessKeyId) };
  }

  async function replace(call: Call): Promise<IssuedToken> {
    const cached = cache.recall(call.key);
    if (cached !== undefined && cached.token.fingerprint !== call.request.refused) return cached.token;
    remember(reports, call.key, flightKey('ask', call));
    return ask('ask', call);
  }

  /** Tries once, and falls back on the cached token: a longer life is a target, and a living token serves. */
  async function renew(call: Call): Promise<IssuedToken> {
    const { key, waiting } = call;
    const deadline = Math.min(waiting.deadline, now() + RENEWAL_LIMIT_MS);
    try {
      return await ask('renew', { ...call, waiting: { ...waiting, deadline } });
    } catch (error) {
      if (waiting.signal?.aborted || !(error instanceof TokenBrokerError)) throw error;
      return cache.recall(key)?.token ?? ask('ask', call);
    }
  }

  function ask(way: Way, call: Call): Promise<IssuedToken> {
    const { key, request, waiting } = call;
    const attempts = way === 'renew' ? { ...call.connection, maxAttempts: 1 } : call.connection;
    return flights.join(flightKey(way, call), waiting, async (limits) => {
      const { minTtl = 0, refused } = request;
      if (minTtl > 0) remember(minTtlRequests, key, { at: now(), minTtl });
      const number = ++requests;
      try {
        const token = await askForToken(attempts, request, limits);
        cache.keep(key, token, number);
        return token;
      } catch (error) {
        // A broker that stands by the token says that the service refused the call for another reason.
        if (refused !== undefined && !isRefusedAgain(error)) cache.forget(key, refused);
        throw error;
      }
    });
  }

  function isTooShort({ expiresAt }: IssuedToken, { minTtl = 0 }: TokenRequest): boolean {
    return expiresAt - now() < minTtl * 1_000;
  }

  function mayAskForMinTtl({ key, request: { minTtl = 0 } }: Call): boolean {
    const last = minTtlRequests.get(key);
    return last === undefined || minTtl > last.minTtl || now() - last.at >= MIN_TTL_INTERVAL_MS;
  }
}

/** The broker answers a renewal within a second or two; meanwhile the cached token serves. */
const RENEWAL_LIMIT_MS = 5_000;

/**
 * The broker requests a longer-living token at most this often, and never when the service's tokens do not live that
 * long: asking more often brings nothing.
 */
const MIN_TTL_INTERVAL_MS = 30_000;

type Way = 'ask' | 'renew';

function callKey({ client, service }: TokenRequest, accessKeyId: string): string {
  return JSON.stringify([client, service, accessKeyId]);
}

/** Callers that ask for the same in the same way share the answer. */
function flightKey(way: Way, { key, request: { minTtl = 0, refused = '' } }: Call): string {
  return `${way} ${key} ${minTtl} ${refused}`;
}
