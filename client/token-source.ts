import { askForToken, type IssuedToken, type TokenRequest } from './answers.ts';
import { isProblem, TokenBrokerError } from './error.ts';
import type { Connection } from './request.ts';
import { readCredentials } from './sign.ts';
import { SingleFlight, type Waiting, within } from './single-flight.ts';
import { TokenCache } from './token-cache.ts';

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
 * failure while the token lives. What signs is read for each call, unless it is the standard chain, which gives one
 * identity for the process. There are no timers and nothing runs when no caller waits: Lambda freezes processes.
 */
export function createCachingSource(connection: Connection, isStandardChain: boolean): TokenSource {
  const { now } = connection;
  const cache = new TokenCache(connection);
  const flights = new SingleFlight<IssuedToken>(now);
  let requests = 0;

  return async (request, waiting) => {
    const call = await callOf(request, waiting);
    const { key } = call;
    if (request.refused !== undefined) {
      const current = cache.recall(key)?.token;
      if (current !== undefined && current.fingerprint !== request.refused) return current;
      // Another caller may have refused another token.
      const isShared = flights.running(flightKey('report', call)) !== undefined;
      const token = await ask('report', call);
      return isShared && token.fingerprint === request.refused ? ask('report', call) : token;
    }
    // Until the report ends, the cached token would be the refused one.
    const report = flights.running(flightKey('report', call));
    if (report !== undefined) await within(now, waiting, () => report.catch(() => undefined));

    const cached = cache.recall(key, request.minTtl);
    if (cached === undefined) return ask('ask', call);
    const isAsking = cached.isShort && flights.running(flightKey('renew', call)) !== undefined;
    if (!cached.isDue && !isAsking) return cached.token;
    cache.postpone(key, request.minTtl ?? 0);
    return renew(call);
  };

  async function callOf(request: TokenRequest, waiting: Waiting): Promise<Call> {
    const keyOf = (accessKeyId: string) => JSON.stringify([request.client, request.service, accessKeyId]);
    if (isStandardChain) return { request, waiting, connection, key: keyOf('') };
    const limit = { ...waiting, deadline: Math.min(waiting.deadline, now() + connection.timeoutMs) };
    const credentials = await within(now, limit, () => readCredentials(connection.credentials));
    const signing = { ...connection, credentials: async () => credentials };
    return { request, waiting, connection: signing, key: keyOf(credentials.accessKeyId) };
  }

  /** Tries once, and falls back on the cached token: a longer life is a target, and a living token serves. */
  async function renew(call: Call): Promise<IssuedToken> {
    const { waiting, connection } = call;
    const brief = { ...waiting, deadline: Math.min(waiting.deadline, now() + RENEWAL_LIMIT_MS) };
    try {
      return await ask('renew', { ...call, waiting: brief, connection: { ...connection, maxAttempts: 1 } });
    } catch (error) {
      if (waiting.signal?.aborted || !(error instanceof TokenBrokerError)) throw error;
      return cache.recall(call.key)?.token ?? ask('ask', call);
    }
  }

  /** Callers that ask for the same in the same way share the answer. */
  function ask(way: Way, call: Call): Promise<IssuedToken> {
    const { key, request, waiting } = call;
    return flights.join(flightKey(way, call), waiting, async (limits) => {
      const { minTtl = 0, refused } = request;
      const number = ++requests;
      try {
        const token = await askForToken(call.connection, request, limits);
        cache.keep(key, token, { number, minTtl });
        return token;
      } catch (error) {
        // A broker that stands by the token says that the service refused the call for another reason.
        if (refused !== undefined && !isProblem(error, 'refused-again')) cache.forget(key, refused);
        throw error;
      }
    });
  }
}

/** The broker answers a renewal within a second or two; meanwhile the cached token serves. */
const RENEWAL_LIMIT_MS = 5_000;

/** A `report` tells of a refused token. */
type Way = 'ask' | 'renew' | 'report';

function flightKey(way: Way, { key, request: { minTtl = 0 } }: Call): string {
  return way === 'report' ? `report ${key}` : `${way} ${key} ${minTtl}`;
}
