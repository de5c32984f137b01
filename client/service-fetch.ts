import { isLoopback } from './endpoint.ts';
import type { IssuedToken } from './issued-token.ts';
import type { Waiting } from './single-flight.ts';
import type { TokenSource } from './token-source.ts';
import { successorOf, type TokenWish } from './with-token.ts';

type Fetch = typeof globalThis.fetch;

/**
 * `fetch` with a token of the pair. After a 401 the token is reported as refused, and the request repeated once with
 * its successor, when there is one and the body can be sent again; otherwise the 401 is the answer.
 *
 * @param patience asked for each token: what the service takes is not a part of the wait
 */
export async function fetchWithToken(
  fetch: Fetch,
  source: TokenSource,
  [input, init]: Parameters<Fetch>,
  wish: TokenWish,
  patience: () => Waiting,
): Promise<Response> {
  refusePlainHttp(input);
  const send = (token: IssuedToken) => fetch(input, { ...init, headers: withBearer(input, init, token) });

  const token = await source(wish, patience());
  const response = await send(token);
  if (response.status !== 401) return response;

  const replacement = successorOf(token, source, wish, patience());
  if (!isRepeatable(input, init)) {
    // Reported for whoever comes next.
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

/** RFC 6750 §5.3: whoever sees a token may use it. */
function refusePlainHttp(input: Parameters<Fetch>[0]): void {
  const url = new URL(input instanceof Request ? input.url : input);
  if (url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(url))) return;
  throw new TypeError('a token is only sent to https:// (http:// only on loopback)');
}

function withBearer(input: Parameters<Fetch>[0], init: RequestInit | undefined, { accessToken }: IssuedToken): Headers {
  const headers = new Headers(init?.headers ?? (input instanceof Request ? input.headers : undefined));
  headers.set('authorization', `Bearer ${accessToken}`);
  return headers;
}

/** A stream is gone when it was sent, and so is the body of a `Request`, which is one. */
function isRepeatable(input: Parameters<Fetch>[0], init: RequestInit | undefined): boolean {
  const body = init?.body ?? (input instanceof Request ? input.body : undefined);
  if (body === null || body === undefined || typeof body === 'string') return true;
  return !(body instanceof ReadableStream || Symbol.asyncIterator in body);
}
