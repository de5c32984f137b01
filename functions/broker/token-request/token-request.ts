import type { Credential } from '../credential/credential.ts';
import type { Problem } from '../problem.ts';
import type { Service } from '../service.ts';
import type { TokenResponse } from '../token-response/bytes.ts';
import type { RequestTimes } from '../token-response/expiry.ts';
import { type HttpRequest, problemOf, SendFailure, type SendHttp } from './send-http.ts';

export type RequestToken = ReturnType<typeof createTokenRequester>;

/** An answer, with the times of the repetition that it answers. */
export interface TokenExchange extends RequestTimes {
  /** An answer with any status. Its body is empty when an answer other than a success broke off after its headers. */
  readonly response: TokenResponse;
}

/** A failure without a readable answer. `isUnheard`: the request was sent, and no status arrived. */
type Unanswered = { readonly problem: Problem; readonly isUnheard: boolean };

interface Dependencies {
  readonly sendHttp: SendHttp;
  readonly now: () => number;
  readonly sleep: (ms: number) => Promise<void>;
  /** From 0 to below 1. */
  readonly random: () => number;
}

/**
 * Sends a service's token request, and ends by `deadline` in epoch milliseconds. Returns failures too. Repeats a
 * request at most twice, and only without a connection, because then the service cannot have read a byte.
 */
export function createTokenRequester({ sendHttp, now, sleep, random }: Dependencies) {
  return async (service: Service, credential: Credential, deadline: number): Promise<TokenExchange | Unanswered> => {
    const request = buildTokenRequest(service, credential);
    const end = Math.min(deadline, now() + service.requestTimeoutMs);
    for (let attempts = 1; ; attempts += 1) {
      const requestStartedAt = now();
      const result = await sendOnce(request, end - requestStartedAt);
      if (!(result instanceof SendFailure)) return { response: result, requestStartedAt, receivedAt: now() };

      // Full jitter: instances that failed together do not return together.
      const pauseMs = random() * FIRST_PAUSE_MS * 2 ** (attempts - 1);
      const hasTime = (afterMs: number) => now() + afterMs + MIN_REPEAT_MS <= end;
      const isRepeated = result.kind === 'connect' && attempts < MAX_ATTEMPTS && hasTime(pauseMs);
      if (isRepeated) await sleep(pauseMs);
      // The instance may have been frozen during the pause.
      if (isRepeated && hasTime(0)) continue;
      const isUnheard = ['timeout', 'broken', 'malformed'].includes(result.kind) && result.head === undefined;
      return { problem: problemOf(result, request.url.host), isUnheard };
    }
  };

  async function sendOnce(request: HttpRequest, timeoutMs: number): Promise<TokenResponse | SendFailure> {
    try {
      return await sendHttp(request, { timeoutMs, maxBodyBytes: MAX_BODY_BYTES });
    } catch (error) {
      if (!(error instanceof SendFailure)) throw error;
      // The status of a 401 or a 429 is enough. If an unreadable body counted as a broken connection, a rejected
      // credential would be sent again until the account is locked.
      return error.head !== undefined && error.head.status >= 300 ? error.head : error;
    }
  }
}

const MAX_ATTEMPTS = 3;
const FIRST_PAUSE_MS = 100;
/** A repetition with less time would probably be sent and end before its answer. */
const MIN_REPEAT_MS = 250;
const MAX_BODY_BYTES = 256 * 1_024;

/** Builds the token request of a service, authenticated with a credential. */
export function buildTokenRequest(service: Service, credential: Credential): HttpRequest {
  const parameters = new URLSearchParams(service.parameters).toString();
  const body = service.parametersIn === 'body' ? parameters : '';
  // Set as a path and never joined as text. No `tokenPath` can change the host.
  const url = new URL(service.authUrl);
  url.pathname = url.pathname.replace(/\/$/, '') + service.tokenPath;
  // Some servers do not read a plus in a query as a space.
  url.search = service.parametersIn === 'query' ? parameters.replaceAll('+', '%20') : '';
  return {
    method: 'POST',
    url,
    headers: {
      accept: 'application/json',
      'user-agent': 'token-broker',
      ...(body !== '' && { 'content-type': 'application/x-www-form-urlencoded' }),
      ...Object.fromEntries(Object.entries(service.headers).map(([name, value]) => [name.toLowerCase(), value])),
      // Last, because no setting may change these headers.
      authorization: credential.authorization,
      'accept-encoding': 'identity',
      // Form-encoded text is ASCII, so characters are bytes.
      'content-length': String(body.length),
    },
    body,
    certificateAuthorities: service.certificateAuthorities,
  };
}
