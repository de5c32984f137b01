import { askForToken, type IssuedToken, type TokenRequest } from './answers.ts';
import { isRefusedAgain, TokenBrokerError } from './error.ts';
import type { Connection } from './request.ts';
import { SingleFlight, type Waiting, within } from './single-flight.ts';
import { TokenCache } from './token-cache.ts';

/** Gives a token of a pair. @throws TokenBrokerError */
export type TokenSource = (request: TokenRequest, waiting: Waiting) => Promise<IssuedToken>;

/** Asks the broker for every token anew. */
export function createUncachedSource(connection: Connection): TokenSource {
  return (request, waiting) => within(connection.now, waiting, (limits) => askForToken(connection, request, limits));
}

/**
 * Hands a living token out again, and asks for one once, however many callers wait for it.
 *
 * Towards its end one caller asks for the successor while the others keep getting the token; that this fails is no
 * failure while the token lives. There are no timers and nothing runs when no caller waits: Lambda freezes processes.
 */
export function createCachingSource(connection: Connection): TokenSource {
  const { now } = connection;
  const cache = new TokenCache(connection);
  const flights = new SingleFlight<IssuedToken>(now);
  /** By pair: the flight that reports, or has reported, a refused token. */
  const reports = new Map<string, string>();
  /** By pair: the last request for a longer life. */
  const minTtlRequests = new Map<string, { readonly at: number; readonly minTtl: number }>();
  let requests = 0;

  return async (request, waiting) => {
    const pair = pairKey(request);
    if (request.refused !== undefined) return replace(pair, request, waiting);

    // Until the report ends, the cached token would be the refused one.
    const report = flights.running(reports.get(pair) ?? '');
    if (report !== undefined) await within(now, waiting, () => report.catch(() => undefined));

    const cached = cache.recall(pair);
    if (cached === undefined) return ask('ask', pair, request, waiting);
    if (isTooShort(cached.token, request)) {
      const isAsking = flights.running(flightKey('renew', pair, request)) !== undefined;
      return isAsking || mayAskForMinTtl(pair, request) ? renew(pair, request, waiting) : cached.token;
    }
    if (!cached.isDue) return cached.token;
    cache.postpone(pair);
    return renew(pair, request, waiting);
  };

  async function replace(pair: string, request: TokenRequest, waiting: Waiting): Promise<IssuedToken> {
    const cached = cache.recall(pair);
    if (cached !== undefined && cached.token.fingerprint !== request.refused) return cached.token;
    reports.set(pair, flightKey('ask', pair, request));
    return ask('ask', pair, request, waiting);
  }

  /** Tries once, and falls back on the cached token: a longer life is a target, and a living token serves. */
  async function renew(pair: string, request: TokenRequest, waiting: Waiting): Promise<IssuedToken> {
    const deadline = Math.min(waiting.deadline, now() + RENEWAL_LIMIT_MS);
    try {
      return await ask('renew', pair, request, { ...waiting, deadline });
    } catch (error) {
      if (waiting.signal?.aborted || !(error instanceof TokenBrokerError)) throw error;
      return cache.recall(pair)?.token ?? ask('ask', pair, request, waiting);
    }
  }

  function ask(way: Way, pair: string, request: TokenRequest, waiting: Waiting): Promise<IssuedToken> {
    const attempts = way === 'renew' ? { ...connection, maxAttempts: 1 } : connection;
    return flights.join(flightKey(way, pair, request), waiting, async (limits) => {
      const { minTtl = 0, refused } = request;
      if (minTtl > 0) minTtlRequests.set(pair, { at: now(), minTtl });
      const number = ++requests;
      try {
        const token = await askForToken(attempts, request, limits);
        cache.keep(pair, token, number);
        return token;
      } catch (error) {
        // A broker that stands by the token says that the service refused the call for another reason.
        if (refused !== undefined && !isRefusedAgain(error)) cache.forget(pair, refused);
        throw error;
      }
    });
  }

  function isTooShort({ expiresAt }: IssuedToken, { minTtl = 0 }: TokenRequest): boolean {
    return expiresAt - now() < minTtl * 1_000;
  }

  function mayAskForMinTtl(pair: string, { minTtl = 0 }: TokenRequest): boolean {
    const last = minTtlRequests.get(pair);
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

function pairKey({ client, service }: TokenRequest): string {
  return JSON.stringify([client, service]);
}

/** Callers that ask for the same in the same way share the answer. */
function flightKey(way: Way, pair: string, { minTtl = 0, refused = '' }: TokenRequest): string {
  return `${way} ${pair} ${minTtl} ${refused}`;
}
