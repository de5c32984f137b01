import type { IssuedToken } from './answers.ts';
import type { Connection } from './request.ts';

/** A token that is handed out again. All times are epoch milliseconds. */
interface Held {
  readonly token: IssuedToken;
  /** The number of the request that brought it. */
  readonly request: number;
  readonly receivedAt: number;
  /** From here on one caller asks for its successor, while the others still get this one. */
  readonly renewAt: number;
  /** From here on no caller gets it. */
  readonly endsAt: number;
  /** When a token was last asked for that lives longer, and how long: seconds. */
  readonly longerAskedAt: number;
  readonly minTtl: number;
}

/** The tokens of one process, by pair and the identity that asked; its times follow from how long each token lives. */
export class TokenCache {
  readonly #held = new Map<string, Held>();
  readonly #connection: Pick<Connection, 'now' | 'random'>;

  constructor(connection: Pick<Connection, 'now' | 'random'>) {
    this.#connection = connection;
  }

  /** The token that may be handed out, whether it lives shorter than asked, and whether to ask for another one now. */
  recall(key: string, minTtl = 0) {
    const now = this.#connection.now();
    const held = this.#held.get(key);
    // A clock that was set back would make every token live longer.
    if (held === undefined || now < held.receivedAt || now >= held.endsAt) return undefined;
    const { token, renewAt } = held;
    const isShort = token.expiresAt - now < minTtl * 1_000;
    const mayAskForLonger = minTtl > held.minTtl || now - held.longerAskedAt >= MIN_TTL_INTERVAL_MS;
    return { token, isShort, isDue: isShort ? mayAskForLonger : now >= renewAt };
  }

  /** Keeps a token, unless a later request has already brought one; forgets the one that was kept longest ago. */
  keep(
    key: string,
    token: IssuedToken,
    { number, minTtl }: { readonly number: number; readonly minTtl: number },
  ): void {
    const before = this.#held.get(key);
    if (before !== undefined && before.request > number) return;
    const { now, random } = this.#connection;
    const receivedAt = now();
    const lifetimeMs = Math.max(0, token.expiresAt - receivedAt);
    this.#held.delete(key);
    this.#held.set(key, {
      token,
      request: number,
      receivedAt,
      renewAt: token.expiresAt - renewalWindowMs(lifetimeMs, random()),
      endsAt: token.expiresAt - hardMarginMs(lifetimeMs),
      longerAskedAt: receivedAt,
      minTtl,
    });
    const [oldest] = this.#held.keys();
    if (this.#held.size > MAX_ENTRIES && oldest !== undefined) this.#held.delete(oldest);
  }

  /** Asks for no successor before half of what is left has passed: few tries, and more often towards the end. */
  postpone(key: string, minTtl: number): void {
    const held = this.#held.get(key);
    if (held === undefined) return;
    const now = this.#connection.now();
    const renewAt = Math.max(held.renewAt, (now + held.token.expiresAt) / 2);
    this.#held.set(key, { ...held, renewAt, ...(minTtl > 0 && { longerAskedAt: now, minTtl }) });
  }

  /** Hands this token out no more. */
  forget(key: string, fingerprint: string): void {
    if (this.#held.get(key)?.token.fingerprint === fingerprint) this.#held.delete(key);
  }
}

const MAX_ENTRIES = 1_000;

/** The broker requests a longer-living token at most this often, and none when the service has none. */
const MIN_TTL_INTERVAL_MS = 30_000;

/** Not longer than the broker's own margin (30 s, or a fifth of a life): a caller within it gets a new token. */
function hardMarginMs(lifetimeMs: number): number {
  return Math.min(30_000, lifetimeMs * 0.2);
}

/** Inside the window in which the broker renews, so that it does; spread, so that processes do not ask together. */
function renewalWindowMs(lifetimeMs: number, random: number): number {
  return Math.max(lifetimeMs * 0.15, hardMarginMs(lifetimeMs) * 1.5) * (1 - 0.2 * random);
}
