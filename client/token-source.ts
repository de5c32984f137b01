import { hardMarginMs } from '../functions/vocabulary.ts';
import { askForToken, type IssuedToken, type TokenRequest } from './answers.ts';
import { isProblem, TokenBrokerError } from './error.ts';
import type { Connection } from './request.ts';
import { readCredentials } from './sign.ts';
import { SingleFlight, type Waiting, within } from './single-flight.ts';

/** Gives a token of a pair. @throws TokenBrokerError */
export type TokenSource = (request: TokenRequest, waiting: Waiting) => Promise<IssuedToken>;

/** Asks the broker for every token anew. */
export function createUncachedSource(connection: Connection): TokenSource {
  return (request, waiting) => within(connection.now, waiting, (limits) => askForToken(connection, request, limits));
}

/** One call, and the connection that signs it. */
interface CallToSign {
  readonly request: TokenRequest;
  readonly waiting: Waiting;
  readonly connection: Connection;
  /** Names the pair and the identity that signs: another identity may not have the token of this one. */
  readonly key: string;
}

/**
 * Hands a living token out again, and asks for one once, however many callers wait for it.
 *
 * Towards its end one caller asks for the successor while the others keep getting the token; if that fails, this one
 * gets the living token, too. Credentials are read for each call, except from the standard chain, which gives one
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
      const token = await askShared('report', call);
      return isShared && token.fingerprint === request.refused ? askShared('report', call) : token;
    }
    // Until the report ends, the cached token would be the refused one.
    const report = flights.running(flightKey('report', call));
    if (report !== undefined) await within(now, waiting, () => report.catch(() => undefined));

    const cached = cache.recall(key, request.minTtl);
    if (cached === undefined) return askShared('ask', call);
    const isAsking = cached.isShort && flights.running(flightKey('renew', call)) !== undefined;
    if (!cached.isDue && !isAsking) return cached.token;
    cache.postpone(key, request.minTtl ?? 0);
    return renew(call);
  };

  async function callOf(request: TokenRequest, waiting: Waiting): Promise<CallToSign> {
    const keyOf = (accessKeyId: string) => JSON.stringify([request.client, request.service, accessKeyId]);
    if (isStandardChain) return { request, waiting, connection, key: keyOf('') };
    const limit = { ...waiting, deadline: Math.min(waiting.deadline, now() + connection.timeoutMs) };
    const credentials = await within(now, limit, () => readCredentials(connection.credentials));
    const signing = { ...connection, credentials: async () => credentials };
    return { request, waiting, connection: signing, key: keyOf(credentials.accessKeyId) };
  }

  /** Tries once, and falls back on the cached token: a longer life is a target, and a living token serves. */
  async function renew(call: CallToSign): Promise<IssuedToken> {
    const { waiting, connection } = call;
    const brief = { ...waiting, deadline: Math.min(waiting.deadline, now() + RENEWAL_LIMIT_MS) };
    try {
      return await askShared('renew', { ...call, waiting: brief, connection: { ...connection, maxAttempts: 1 } });
    } catch (error) {
      if (waiting.signal?.aborted || !(error instanceof TokenBrokerError)) throw error;
      return cache.recall(call.key)?.token ?? askShared('ask', call);
    }
  }

  /** Callers that ask for the same in the same way share the answer. */
  function askShared(way: Way, call: CallToSign): Promise<IssuedToken> {
    const { key, request, waiting } = call;
    return flights.join(flightKey(way, call), waiting, async (limits) => {
      const { minTtl = 0, refused } = request;
      const number = ++requests;
      try {
        const token = await askForToken(call.connection, request, limits);
        cache.keep(key, token, number, minTtl);
        return token;
      } catch (error) {
        // With `refused-again` the broker stands by the token: the service had another reason.
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

function flightKey(way: Way, { key, request: { minTtl = 0 } }: CallToSign): string {
  return way === 'report' ? `report ${key}` : `${way} ${key} ${minTtl}`;
}

/** A token that is handed out again. All times are epoch milliseconds. */
interface CachedToken {
  readonly token: IssuedToken;
  /** The number of the request that brought it. */
  readonly request: number;
  readonly receivedAt: number;
  /** From here on one caller asks for its successor, while the others still get this one. */
  readonly renewAt: number;
  /** From here on no caller gets it. */
  readonly endsAt: number;
  /** When a longer-living token was last asked for, and how long a life: seconds. */
  readonly longerAskedAt: number;
  readonly minTtl: number;
}

/** The tokens of one process, by pair and the identity that asked; its times follow from how long each token lives. */
class TokenCache {
  readonly #tokens = new Map<string, CachedToken>();
  readonly #connection: Pick<Connection, 'now' | 'random'>;

  constructor(connection: Pick<Connection, 'now' | 'random'>) {
    this.#connection = connection;
  }

  /** The token that may be handed out, whether it lives shorter than asked, and whether to ask for another one now. */
  recall(key: string, minTtl = 0) {
    const now = this.#connection.now();
    const cached = this.#tokens.get(key);
    // A clock that was set back would make every token live longer.
    if (cached === undefined || now < cached.receivedAt || now >= cached.endsAt) return undefined;
    const { token, renewAt } = cached;
    const isShort = token.expiresAt - now < minTtl * 1_000;
    const mayAskForLonger = minTtl > cached.minTtl || now - cached.longerAskedAt >= MIN_TTL_INTERVAL_MS;
    return { token, isShort, isDue: isShort ? mayAskForLonger : now >= renewAt };
  }

  /** Keeps a token, unless a later request has already brought one; forgets the one that was kept longest ago. */
  keep(key: string, token: IssuedToken, request: number, minTtl: number): void {
    const before = this.#tokens.get(key);
    if (before !== undefined && before.request > request) return;
    const { now, random } = this.#connection;
    const receivedAt = now();
    const lifetimeMs = Math.max(0, token.expiresAt - receivedAt);
    this.#tokens.delete(key);
    this.#tokens.set(key, {
      token,
      request,
      receivedAt,
      renewAt: token.expiresAt - renewalWindowMs(lifetimeMs, random()),
      endsAt: token.expiresAt - hardMarginMs(lifetimeMs),
      longerAskedAt: receivedAt,
      minTtl,
    });
    const [oldest] = this.#tokens.keys();
    if (this.#tokens.size > MAX_ENTRIES && oldest !== undefined) this.#tokens.delete(oldest);
  }

  /** Waits with the next try for half of the remaining life: few tries, and more often towards the end. */
  postpone(key: string, minTtl: number): void {
    const cached = this.#tokens.get(key);
    if (cached === undefined) return;
    const now = this.#connection.now();
    const renewAt = Math.max(cached.renewAt, (now + cached.token.expiresAt) / 2);
    this.#tokens.set(key, { ...cached, renewAt, ...(minTtl > 0 && { longerAskedAt: now, minTtl }) });
  }

  /** Hands this token out no more. */
  forget(key: string, fingerprint: string): void {
    if (this.#tokens.get(key)?.token.fingerprint === fingerprint) this.#tokens.delete(key);
  }
}

const MAX_ENTRIES = 1_000;

/** The broker requests a longer-living token at most this often, and none when the service has none. */
const MIN_TTL_INTERVAL_MS = 30_000;

/** Inside the window in which the broker renews, so that it does; spread, so that processes do not ask together. */
function renewalWindowMs(lifetimeMs: number, random: number): number {
  return Math.max(lifetimeMs * 0.15, hardMarginMs(lifetimeMs) * 1.5) * (1 - 0.2 * random);
}
