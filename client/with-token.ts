import type { IssuedToken, TokenRequest } from './answers.ts';
import { isRefusedAgain } from './error.ts';
import { isSafe } from './sign.ts';
import type { Waiting } from './single-flight.ts';
import type { TokenSource } from './token-source.ts';

/** For code that was given a token to throw when the service turns the token away. */
export class TokenRefused extends Error {
  override readonly name = 'TokenRefused';

  constructor(message = 'The service refused the token', options?: ErrorOptions) {
    super(message, options);
  }
}

/** Where the token of a call comes from. */
interface TokenUse {
  readonly source: TokenSource;
  readonly request: Omit<TokenRequest, 'refused'>;
  /** Asked for each token: the time that the token is used for is not part of the wait. */
  readonly waiting: () => Waiting;
}

/** Runs `use` with a token; when it throws `TokenRefused`, once more with the successor, if there is one. */
export async function useToken<Result>(
  tokenUse: TokenUse,
  use: (token: IssuedToken) => Result | Promise<Result>,
): Promise<Result> {
  const { source, request, waiting } = tokenUse;
  const token = await source(request, waiting());
  try {
    return await use(token);
  } catch (error) {
    if (!(error instanceof TokenRefused)) throw error;
    const successor = await successorOf(token, tokenUse);
    if (successor === undefined) throw error;
    return use(successor);
  }
}

type Fetch = typeof globalThis.fetch;

/**
 * `fetch` with a token of the pair. After a 401 of the service itself, at one of its `origins`, the token is reported as
 * refused, and the request repeated once with its successor, when there is one and the body can be sent again; otherwise the 401 is the answer.
 */
export async function fetchWithToken(
  tokenUse: TokenUse,
  { fetch, origins }: { readonly fetch: Fetch; readonly origins: ReadonlySet<string> },
  [input, init]: Parameters<Fetch>,
): Promise<Response> {
  const { source, request, waiting } = tokenUse;
  const url = new URL(input instanceof Request ? input.url : input);
  // Any party that sees a token on its way can use it (RFC 6750 §5.3).
  if (!isSafe(url)) throw new TypeError('a token is only sent to https:// (http:// only on loopback)');
  const send = (token: IssuedToken) => fetch(input, { ...init, headers: withBearer(input, init, token) });

  const token = await source(request, waiting());
  const response = await send(token);
  // A redirect may have led to another host, and `fetch` takes no token there.
  const { origin } = response.url === '' ? url : new URL(response.url);
  if (response.status !== 401 || !origins.has(origin)) return response;

  const replacement = successorOf(token, tokenUse);
  if (!isRepeatable(input, init)) {
    // Reported for the next call.
    await replacement.catch(() => undefined);
    return response;
  }
  const successor = await replacement.catch(async (error: unknown) => {
    await response.body?.cancel();
    throw error;
  });
  if (successor === undefined) return response;
  await response.body?.cancel();
  return send(successor);
}

/** What the broker gives in place of a refused token; `undefined` when it stands by it. @throws TokenBrokerError */
async function successorOf(
  { fingerprint }: IssuedToken,
  { source, request, waiting }: TokenUse,
): Promise<IssuedToken | undefined> {
  try {
    const successor = await source({ ...request, refused: fingerprint }, waiting());
    return successor.fingerprint === fingerprint ? undefined : successor;
  } catch (error) {
    if (isRefusedAgain(error)) return undefined;
    throw error;
  }
}

function withBearer(input: Parameters<Fetch>[0], init: RequestInit | undefined, token: IssuedToken): Headers {
  // A token of a type that its holder does not know must not be used (RFC 6749 §7.1).
  if (token.tokenType.toLowerCase() !== 'bearer') throw new TypeError('the token is no bearer token: use withToken');
  const headers = new Headers(init?.headers ?? (input instanceof Request ? input.headers : undefined));
  headers.set('authorization', `Bearer ${token.accessToken}`);
  return headers;
}

/** A stream is gone when it was sent, and so is the body of a `Request`, which is one. */
function isRepeatable(input: Parameters<Fetch>[0], init: RequestInit | undefined): boolean {
  const body = init?.body ?? (input instanceof Request ? input.body : undefined);
  if (body === null || body === undefined || typeof body === 'string') return true;
  return !(body instanceof ReadableStream || Symbol.asyncIterator in body);
}
