import type { IssuedToken } from './answers.ts';

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
}

interface Dependencies {
  /** Epoch milliseconds. */
  readonly now: () => number;
  /** From 0 to below 1. */
  readonly random: () => number;
}

/** The tokens of one process, by pair and the identity that asked. No time in it is fixed: all follow from how long each token lives. */
export class TokenCache {
  readonly #held = new Map<string, Held>();
  readonly #dependencies: Dependencies;

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
  }

  /** The token that may be handed out, and whether it is time to ask for its successor. */
  recall(pair: string): { readonly token: IssuedToken; readonly isDue: boolean } | undefined {
    const now = this.#dependencies.now();
    const held = this.#held.get(pair);
    // A clock that was set back would make every token live longer.
    if (held === undefined || now < held.receivedAt || now >= held.endsAt) return undefined;
    return { token: held.token, isDue: now >= held.renewAt };
  }

  /** Keeps a token, unless a later request has already brought one. */
  keep(pair: string, token: IssuedToken, request: number): void {
    const before = this.#held.get(pair);
    if (before !== undefined && before.request > request) return;
    const { now, random } = this.#dependencies;
    const receivedAt = now();
    const lifetimeMs = Math.max(0, token.expiresAt - receivedAt);
    remember(this.#held, pair, {
      token,
      request,
      receivedAt,
      renewAt: token.expiresAt - renewalWindowMs(lifetimeMs, random()),
      endsAt: token.expiresAt - hardMarginMs(lifetimeMs),
    });
  }

  /** Asks for no successor before half of what is left has passed: few tries, and more often towards the end. */
  postpone(pair: string): void {
    const held = this.#held.get(pair);
    if (held === undefined) return;
    const { expiresAt } = held.token;
    this.#held.set(pair, { ...held, renewAt: expiresAt - (expiresAt - this.#dependencies.now()) / 2 });
  }

  /** Hands this token out no more. */
  forget(pair: string, fingerprint: string): void {
    if (this.#held.get(pair)?.token.fingerprint === fingerprint) this.#held.delete(pair);
  }
}

/** Sets what a map holds under the key, and forgets what was set longest ago when it holds too much. */
export function remember<Value>(map: Map<string, Value>, key: string, value: Value): void {
  map.delete(key);
  map.set(key, value);
  const [oldest] = map.keys();
  if (map.size > MAX_ENTRIES && oldest !== undefined) map.delete(oldest);
}

const MAX_ENTRIES = 1_000;

/**
 * Not longer than the margin within which the broker issues a token no more (30 s, or a fifth of a life that may have
 * begun before we saw the token): a caller that asks within it gets a new token, and not the same again and again.
 */
function hardMarginMs(lifetimeMs: number): number {
  return Math.min(30_000, lifetimeMs * 0.2);
}

/** Inside the window in which the broker renews, so that it does; spread, so that processes do not ask together. */
function renewalWindowMs(lifetimeMs: number, random: number): number {
  return Math.max(lifetimeMs * 0.15, hardMarginMs(lifetimeMs) * 1.5) * (1 - JITTER * random);
}

const JITTER = 0.2;
