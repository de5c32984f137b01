import { hardMarginMs } from '../functions/vocabulary.ts';
import { askForToken, type IssuedToken, type TokenRequest } from './answers.ts';
import { isProblem, TokenBrokerError } from './error.ts';
import type { Connection } from './request.ts';
import { readCredentials } from './sign.ts';
import { createSingleFlight, type Waiting, within } from './single-flight.ts';

/** Returns a token of a pair. @throws TokenBrokerError */
export type TokenSource = (request: TokenRequest, waiting: Waiting) => Promise<IssuedToken>;

/** A call, and the connection that signs it. */
interface CallToSign {
  readonly request: TokenRequest;
  readonly waiting: Waiting;
  readonly connection: Connection;
  /** Identifies the pair and the signing identity, because another identity must not get its tokens. */
  readonly key: string;
}

/**
 * Returns the cached token while it lives, and requests a token once for all callers that wait for it.
 *
 * Towards a token's end, a single caller requests the successor, and the others get the cached token. If that fails,
 * this caller gets the cached token, too. Credentials are read for each call, except from the standard chain, whose
 * identity is that of the process. No timers, and no work without a waiting caller: Lambda freezes processes.
 */
export function createCachingSource(connection: Connection, isStandardChain: boolean): TokenSource {
  const { now } = connection;
  const warnOfNewKeys = createKeyWarning();
  const cache = createTokenCache(connection);
  const flights = createSingleFlight<IssuedToken>(now);
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
    // The cached token would be the refused token until the report ends.
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
    warnOfNewKeys(credentials.accessKeyId);
    const signing = { ...connection, credentials: async () => credentials };
    return { request, waiting, connection: signing, key: keyOf(credentials.accessKeyId) };
  }

  /** Tries once, and falls back on the cached token: a longer life is only a target. */
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

  /** Shares the answer between callers that ask for the same in the same way. */
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
        // The broker stands by the token after `refused-again`: the service had another reason.
        if (refused !== undefined && !isProblem(error, 'refused-again')) cache.forget(key, refused);
        throw error;
      }
    });
  }
}

/** Warns once of a provider that makes new AWS credentials at each call: then no call gets a cached token. */
function createKeyWarning(): (accessKeyId: string) => void {
  let recent: readonly string[] = [];
  let hasWarned = false;
  return (accessKeyId) => {
    recent = recent.includes(accessKeyId) ? [] : [...recent, accessKeyId];
    if (recent.length < 5 || hasWarned) return;
    hasWarned = true;
    const advice = 'if they are of a single role, pass keepAwsCredentials(provider) as credentials';
    process.emitWarning(`Five calls had five AWS access keys, and asked for a token each: ${advice}`, WARNING);
  };
}

const WARNING = 'TokenBrokerWarning';

/** The limit for a renewal, which usually takes a second or two. The cached token serves meanwhile. */
const RENEWAL_LIMIT_MS = 5_000;

/** `report` asks for the successor of a refused token. */
type Way = 'ask' | 'renew' | 'report';

function flightKey(way: Way, { key, request: { minTtl = 0 } }: CallToSign): string {
  return way === 'report' ? `report ${key}` : `${way} ${key} ${minTtl}`;
}

/** A token in the cache. All times are epoch milliseconds. */
interface CachedToken {
  readonly token: IssuedToken;
  /** The number of the request that returned the token. */
  readonly request: number;
  readonly receivedAt: number;
  /** The time from which a single caller requests the successor, while the others get this token. */
  readonly renewAt: number;
  /** The time from which no caller gets the token. */
  readonly endsAt: number;
  /** The time of the last request for a longer life, and the life that it asked for in seconds. */
  readonly longerAskedAt: number;
  readonly minTtl: number;
}

/** Creates the cache of a process, by pair and signing identity. The times of a token follow from its lifetime. */
function createTokenCache({ now, random }: Pick<Connection, 'now' | 'random'>) {
  const tokens = new Map<string, CachedToken>();
  return {
    /** Returns the usable token, whether it lives shorter than asked, and whether to request another now. */
    recall: (key: string, minTtl = 0) => {
      const time = now();
      const cached = tokens.get(key);
      // A clock that was set back would make every token live longer.
      if (cached === undefined || time < cached.receivedAt || time >= cached.endsAt) return undefined;
      const { token, renewAt } = cached;
      const isShort = token.expiresAt - time < minTtl * 1_000;
      const mayAskForLonger = minTtl > cached.minTtl || time - cached.longerAskedAt >= MIN_TTL_INTERVAL_MS;
      return { token, isShort, isDue: isShort ? mayAskForLonger : time >= renewAt };
    },
    /** Stores a token, unless a later request already brought another. Evicts the token that was stored longest ago. */
    keep: (key: string, token: IssuedToken, request: number, minTtl: number) => {
      const before = tokens.get(key);
      if (before !== undefined && before.request > request) return;
      const receivedAt = now();
      const lifetimeMs = Math.max(0, token.expiresAt - receivedAt);
      // The same token keeps its margin when it returns with a shorter life: then only this caller gets it.
      const isSame = before?.token.fingerprint === token.fingerprint;
      const marginBefore = isSame ? before.token.expiresAt - before.endsAt : 0;
      const marginMs = Math.max(hardMarginMs(lifetimeMs), marginBefore, LEAST_MARGIN_MS);
      const renewAt = token.expiresAt - renewalWindowMs(lifetimeMs, random());
      const endsAt = token.expiresAt - marginMs;
      tokens.delete(key);
      tokens.set(key, { token, request, receivedAt, renewAt, endsAt, longerAskedAt: receivedAt, minTtl });
      const [oldest] = tokens.keys();
      if (tokens.size > MAX_ENTRIES && oldest !== undefined) tokens.delete(oldest);
    },
    /** Delays the next try by half of the remaining life: few tries, and more often towards the end. */
    postpone: (key: string, minTtl: number) => {
      const cached = tokens.get(key);
      if (cached === undefined) return;
      const renewAt = Math.max(cached.renewAt, (now() + cached.token.expiresAt) / 2);
      tokens.set(key, { ...cached, renewAt, ...(minTtl > 0 && { longerAskedAt: now(), minTtl }) });
    },
    /** Removes this token. */
    forget: (key: string, fingerprint: string) => {
      if (tokens.get(key)?.token.fingerprint === fingerprint) tokens.delete(key);
    },
  };
}

const MAX_ENTRIES = 1_000;

/** The broker issues a token that its service repeats until this time before its end. */
const LEAST_MARGIN_MS = 3_000;

/** The broker requests a longer-living token at most this often, if the service issues any. */
const MIN_TTL_INTERVAL_MS = 30_000;

/** Stays inside the broker's own renewal window, so that it renews. Spread, so that processes do not ask together. */
function renewalWindowMs(lifetimeMs: number, random: number): number {
  return Math.max(lifetimeMs * 0.15, hardMarginMs(lifetimeMs) * 1.5) * (1 - 0.2 * random);
}
