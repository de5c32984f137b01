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

/** The tokens of a call. */
interface Tokens {
  /** Returns the token, or the successor of the token with this fingerprint. @throws TokenBrokerError */
  readonly get: (refused?: string) => Promise<IssuedToken>;
  /** Waits, or returns `false` at once if the call would end before. */
  readonly wait: (ms: number) => Promise<boolean>;
}

/** Runs `use` with a token, and again with the successor, if any, after `TokenRefused`. */
export async function useToken<Result>(
  tokens: Tokens,
  use: (token: IssuedToken) => Result | Promise<Result>,
): Promise<Result> {
  const token = await tokens.get();
  try {
    return await use(token);
  } catch (error) {
    if (!(error instanceof TokenRefused)) throw error;
    const successor = await successorOf(token, tokens);
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
  tokens: Tokens,
  { fetch, origins, ignore }: Sending,
  [input, init]: Parameters<Fetch>,
): Promise<Response> {
  // The `Request` of another implementation of `fetch`, or of a test's environment, is of another class.
  const request = typeof input === 'object' && 'url' in input ? input : undefined;
  const url = new URL(request?.url ?? String(input));
  // Any party that sees a token on its way can use it (RFC 6750 §5.3).
  if (!isSafe(url)) throw new TypeError('a token is only sent to https:// (http:// only on loopback)');
  const fetchWith = ({ tokenType, accessToken }: IssuedToken, body?: RequestInit['body']) => {
    // A client must not use a token of a type that it does not know (RFC 6749 §7.1).
    if (tokenType.toLowerCase() !== 'bearer') throw new TypeError('the token is not a bearer token: use withToken');
    const headers = new Headers(init?.headers ?? request?.headers);
    headers.set('authorization', `Bearer ${accessToken}`);
    return fetch(input, { ...init, headers, ...(body !== undefined && { body }) });
  };

  const isOfRequest = request?.body != null && init?.body == null;
  const token = await tokens.get();
  const copy = isOfRequest && !request.bodyUsed && origins?.has(url.origin) ? keepCopy(request.clone()) : undefined;
  const response = await fetchWith(token);
  // Ignores a 401 of another host after a redirect: `fetch` sends no token there, even within the service.
  const { origin } = new URL(response.url || url);
  if (response.status !== 401 || origin !== url.origin) return response;
  if (!origins?.has(origin)) ignore(origin);
  if (!origins?.has(origin)) return response;

  const isRepeatable = () => (isOfRequest ? copy?.() !== undefined : !isStream(init?.body));
  const successor = await successorOf(token, tokens, isRepeatable).catch(async (error: unknown) => {
    // The report serves the next call. This call keeps its 401.
    if (!isRepeatable()) return undefined;
    await response.body?.cancel();
    throw error;
  });
  if (successor === undefined || !isRepeatable()) return response;
  await response.body?.cancel();
  return fetchWith(successor, copy?.());
}

/**
 * Returns the token of the second try, or `undefined` when the broker stands by the token. A service may not know a new
 * token yet: after a short `Retry-After` the same token is tried again.
 *
 * @throws TokenBrokerError
 */
async function successorOf(
  token: IssuedToken,
  { get, wait }: Tokens,
  isRepeatable = () => true,
): Promise<IssuedToken | undefined> {
  try {
    const successor = await get(token.fingerprint);
    return successor.fingerprint === token.fingerprint ? undefined : successor;
  } catch (error) {
    if (!isProblem(error, 'refused-again')) throw error;
    const { retryAfterSeconds: seconds = MAX_WAIT_SECONDS } = error;
    return seconds < MAX_WAIT_SECONDS && isRepeatable() && (await wait(seconds * 1_000)) ? token : undefined;
  }
}

/** The broker replaces no token that is younger than a few seconds. */
const MAX_WAIT_SECONDS = 10;

function isStream(body: RequestInit['body']): boolean {
  return typeof body === 'object' && body !== null && (Symbol.asyncIterator in body || 'pipe' in body);
}

/** Reads a copy of a body while the body is sent. Returns a function for the copy, if it is whole and small. */
function keepCopy({ body }: Request): () => Blob | undefined {
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  let [size, isWhole] = [0, false];
  const read = async () => {
    for await (const chunk of body ?? []) {
      size += chunk.byteLength;
      // Leaving the loop frees the rest of the copy.
      if (size > MAX_COPY_BYTES) return;
      chunks.push(chunk);
    }
    isWhole = true;
  };
  // The body itself fails in the same way.
  read().catch(() => undefined);
  // Node 22 sends no bytes a second time, after a redirect.
  return () => (isWhole ? new Blob(chunks) : undefined);
}

const MAX_COPY_BYTES = 1024 * 1024;
