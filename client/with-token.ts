import type { Pair } from './answers.ts';
import { isRefusedAgain } from './error.ts';
import type { IssuedToken } from './issued-token.ts';
import type { Waiting } from './single-flight.ts';
import type { TokenSource } from './token-source.ts';

/** Thrown by whoever was given a token and finds that the service turned it away. */
export class TokenRefused extends Error {
  override readonly name = 'TokenRefused';

  constructor(message = 'The service refused the token', options?: ErrorOptions) {
    super(message, options);
  }
}

/** A pair, and how long its token should still live. */
export interface TokenWish extends Pair {
  readonly minTtl?: number | undefined;
}

/**
 * Runs `use` with a token; when it throws `TokenRefused`, once more with the successor, if there is one.
 *
 * @param patience asked for each token: what `use` takes is not a part of the wait
 */
export async function useToken<Result>(
  source: TokenSource,
  wish: TokenWish,
  patience: () => Waiting,
  use: (token: IssuedToken) => Result | Promise<Result>,
): Promise<Result> {
  const token = await source(wish, patience());
  try {
    return await use(token);
  } catch (error) {
    if (!(error instanceof TokenRefused)) throw error;
    const successor = await successorOf(token, source, wish, patience());
    if (successor === undefined) throw error;
    return use(successor);
  }
}

/** What the broker gives in place of a refused token; `undefined` when it stands by it. @throws TokenBrokerError */
export async function successorOf(
  { fingerprint }: IssuedToken,
  source: TokenSource,
  wish: TokenWish,
  waiting: Waiting,
): Promise<IssuedToken | undefined> {
  try {
    const successor = await source({ ...wish, refused: fingerprint }, waiting);
    return successor.fingerprint === fingerprint ? undefined : successor;
  } catch (error) {
    if (isRefusedAgain(error)) return undefined;
    throw error;
  }
}
