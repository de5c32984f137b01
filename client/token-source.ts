import { askForToken, type TokenRequest } from './answers.ts';
import { isRefusedAgain, TokenBrokerError } from './error.ts';
import type { IssuedToken } from './issued-token.ts';
import { within } from './limits.ts';
import { MinTtlMemory } from './min-ttl-memory.ts';
import type { Connection } from './request.ts';
import { SharedFlights, type Waiting } from './single-flight.ts';
import { TokenCache } from './token-cache.ts';

/** Gives a token of a pair. @throws TokenBrokerError */
export type TokenSource = (request: TokenRequest, waiting: Waiting) => Promise<IssuedToken>;

/** Asks the broker for every token anew. */
export function createAskingSource(connection: Connection): TokenSource {
  return (request, { signal, deadline }) =>
    within({ signal, timeoutMs: deadline - connection.now() }, (stop) =>
      askForToken(connection, request, { signal: stop, deadline: () => deadline }),
    );
}

/**
 * Hands a living token out again, and asks for one once, however many wait for it.
 *
 * Towards its end one caller asks for the successor while the others go on with the token; that this fails is no
 * failure while the token lives. There are no timers and nothing goes on when nobody waits: Lambda freezes processes.
 */
export function createCachingSource(connection: Connection): TokenSource {
  const { now } = connection;
  const cache = new TokenCache(connection);
  const flights = new SharedFlights<IssuedToken>(now);
  const minTtls = new MinTtlMemory(now);
  /** By pair: the flight that reports, or has reported, a refused token. */
  const reports = new Map<string, string>();
  let requests = 0;

  return async (request, waiting) => {
    const pair = pairKey(request);
    if (request.refused !== undefined) return replace(pair, request, waiting);

    // Until its end, the token at hand would be the refused one.
    const report = flights.running(reports.get(pair) ?? '');
    if (report !== undefined) await waitFor(report, waiting);

    const held = cache.recall(pair);
    if (held === undefined) return ask(pair, request, waiting);
    if (isTooShort(held.token, request)) {
      const isAsking = flights.running(flightKey('renew', pair, request)) !== undefined;
      return isAsking || minTtls.mayAsk(pair, request) ? renew(pair, request, waiting) : held.token;
    }
    if (!held.isDue) return held.token;
    cache.postpone(pair);
    return renew(pair, request, waiting);
  };

  function ask(pair: string, request: TokenRequest, waiting: Waiting, way: Way = 'ask'): Promise<IssuedToken> {
    const times = way === 'renew' ? { ...connection, maxAttempts: 1 } : connection;
    return flights.join(flightKey(way, pair, request), waiting, async (patience) => {
      minTtls.note(pair, request);
      const number = ++requests;
      try {
        const token = await askForToken(times, request, patience);
        cache.keep(pair, token, number);
        return token;
      } catch (error) {
        // Unless the broker stands by it: then the service refused the call for another reason.
        if (request.refused !== undefined && !isRefusedAgain(error)) cache.forget(pair, request.refused);
        throw error;
      }
    });
  }

  /** A longer life is a wish: as long as there is a token that lives, nobody goes without. */
  async function renew(pair: string, request: TokenRequest, waiting: Waiting): Promise<IssuedToken> {
    const deadline = Math.min(waiting.deadline, now() + RENEWAL_LIMIT_MS);
    try {
      return await ask(pair, request, { ...waiting, deadline }, 'renew');
    } catch (error) {
      if (waiting.signal?.aborted || !(error instanceof TokenBrokerError)) throw error;
      return cache.recall(pair)?.token ?? ask(pair, request, waiting);
    }
  }

  async function replace(pair: string, request: TokenRequest, waiting: Waiting): Promise<IssuedToken> {
    const held = cache.recall(pair);
    if (held !== undefined && held.token.fingerprint !== request.refused) return held.token;
    reports.set(pair, flightKey('ask', pair, request));
    return ask(pair, request, waiting);
  }

  function isTooShort({ expiresAt }: IssuedToken, { minTtl = 0 }: TokenRequest): boolean {
    return expiresAt - now() < minTtl * 1_000;
  }

  /** Only until it is over, whatever comes of it. */
  function waitFor(work: Promise<unknown>, { signal, deadline }: Waiting): Promise<unknown> {
    return within({ signal, timeoutMs: deadline - now() }, () => work.catch(() => undefined));
  }
}

/** The broker answers a renewal within a second or two; meanwhile there is a token to go on with. */
const RENEWAL_LIMIT_MS = 5_000;

type Way = 'ask' | 'renew';

function pairKey({ client, service }: TokenRequest): string {
  return JSON.stringify([client, service]);
}

/** Whoever asks for the same in the same way shares the answer. */
function flightKey(way: Way, pair: string, { minTtl = 0, refused = '' }: TokenRequest): string {
  return `${way} ${pair} ${minTtl} ${refused}`;
}
