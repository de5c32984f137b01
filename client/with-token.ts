import type { IssuedToken } from './answers.ts';
import { isProblem } from './error.ts';
import { isSafe } from './sign.ts';

/** The error that the user of a token throws when the service refuses the token. */
export class TokenRefused extends Error {
  override readonly name = 'TokenRefused';

  constructor(message = 'The service refused the token', options?: ErrorOptions) {
    super(message, options);
  }
}

/** Returns the token of a call, or the successor of the token with this fingerprint. @throws TokenBrokerError */
type GetToken = (refused?: string) => Promise<IssuedToken>;

/** Runs `use` with a token, and again with the successor, if any, after `TokenRefused`. */
export async function useToken<Result>(
  getToken: GetToken,
  use: (token: IssuedToken) => Result | Promise<Result>,
): Promise<Result> {
  const token = await getToken();
  try {
    return await use(token);
  } catch (error) {
    if (!(error instanceof TokenRefused)) throw error;
    const successor = await successorOf(token, getToken);
    if (successor === undefined) throw error;
    return use(successor);
  }
}

type Fetch = typeof globalThis.fetch;

interface Sending {
  readonly fetch: Fetch;
  readonly origins: ReadonlySet<string> | undefined;
  /** Learns the origin of a 401 that changes nothing, because the service does not name it. */
  readonly ignore: (origin: string) => void;
}

/**
 * Calls `fetch` with a token of the pair. After a 401 of one of the service's `origins`, reports the token as refused.
 * Repeats the request once if a successor exists and the body can be sent again. Otherwise returns the 401.
 */
export async function fetchWithToken(
  getToken: GetToken,
  { fetch, origins, ignore }: Sending,
  [input, init]: Parameters<Fetch>,
): Promise<Response> {
  const request = input instanceof Request ? input : undefined;
  const url = new URL(request?.url ?? String(input));
  // Any party that sees a token on its way can use it (RFC 6750 §5.3).
  if (!isSafe(url)) throw new TypeError('a token is only sent to https:// (http:// only on loopback)');
  const fetchWith = ({ tokenType, accessToken }: IssuedToken) => {
    // A client must not use a token of a type that it does not know (RFC 6749 §7.1).
    if (tokenType.toLowerCase() !== 'bearer') throw new TypeError('the token is not a bearer token: use withToken');
    const headers = new Headers(init?.headers ?? request?.headers);
    headers.set('authorization', `Bearer ${accessToken}`);
    return fetch(input, { ...init, headers });
  };

  const token = await getToken();
  const response = await fetchWith(token);
  // Ignores a 401 of another host after a redirect: `fetch` sends no token there, even within the service.
  const { origin } = new URL(response.url || url);
  if (response.status !== 401 || origin !== url.origin) return response;
  if (!origins?.has(origin)) ignore(origin);
  if (!origins?.has(origin)) return response;

  const isRepeated = isRepeatable(init?.body ?? request?.body);
  const successor = await successorOf(token, getToken).catch(async (error: unknown) => {
    // The report serves the next call. This call keeps its 401.
    if (!isRepeated) return undefined;
    await response.body?.cancel();
    throw error;
  });
  if (successor === undefined || !isRepeated) return response;
  await response.body?.cancel();
  return fetchWith(successor);
}

/** Returns the successor, or `undefined` when the broker stands by the token. @throws TokenBrokerError */
async function successorOf({ fingerprint }: IssuedToken, getToken: GetToken): Promise<IssuedToken | undefined> {
  try {
    const successor = await getToken(fingerprint);
    return successor.fingerprint === fingerprint ? undefined : successor;
  } catch (error) {
    if (isProblem(error, 'refused-again')) return undefined;
    throw error;
  }
}

/** Returns whether a body can be sent again. A stream cannot, and the body of a `Request` is a stream. */
function isRepeatable(body: RequestInit['body']): boolean {
  return !(typeof body === 'object' && body !== null && Symbol.asyncIterator in body);
}
