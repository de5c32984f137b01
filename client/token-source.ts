import { TokenBrokerError } from './error.ts';
import type { Connection } from './exchange.ts';
import type { IssuedToken } from './issued-token.ts';
import { within } from './limits.ts';
import { MinTtlMemory } from './min-ttl-memory.ts';
import { SharedFlights, type Waiting } from './shared-flights.ts';
import { askForToken, type TokenRequest } from './token.ts';
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
  /** By pair. */
  const replacements = new Map<string, Promise<unknown>>();
  let requests = 0;

  return async (request, waiting) => {
    const pair = pairKey(request);
    if (request.refused !== undefined) return replace(pair, request, request.refused, waiting);

    // Until it ends, the token that is handed out would be the refused one.
    const replacement = replacements.get(pair);
    if (replacement !== undefined) await waitFor(replacement, waiting);

    const held = cache.recall(pair);
    if (held === undefined) return ask(pair, request, waiting);
    if (isTooShort(held.token, request)) {
      const isAsking = flights.isRunning(flightKey('renew', pair, request));
      return isAsking || minTtls.mayAsk(pair, request) ? renew(pair, request, waiting) : held.token;
    }
    if (!held.isDue) return held.token;
    cache.postpone(pair);
    return renew(pair, request, waiting);
  };

  function ask(pair: string, request: TokenRequest, waiting: Waiting, way: Way = 'ask'): Promise<IssuedToken> {
    return flights.join(flightKey(way, pair, request), waiting, async (patience) => {
      minTtls.note(pair, request);
      const number = ++requests;
      const token = await askForToken(
        way === 'renew' ? { ...connection, maxAttempts: 1 } : connection,
        request,
        patience,
      );
      cache.keep(pair, token, number);
      return token;
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

  async function replace(pair: string, request: TokenRequest, refused: string, waiting: Waiting): Promise<IssuedToken> {
    const held = cache.recall(pair);
    if (held !== undefined && held.token.fingerprint !== refused) return held.token;

    const outcome = ask(pair, request, waiting);
    replacements.set(pair, outcome);
    try {
      return await outcome;
    } catch (error) {
      // The broker stands by it: the service may have refused the call for another reason.
      if (!(error instanceof TokenBrokerError && error.type === 'refused-again')) cache.forget(pair, refused);
      throw error;
    } finally {
      if (replacements.get(pair) === outcome) replacements.delete(pair);
    }
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
