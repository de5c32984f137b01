import { CLIENT_ID } from '../../vocabulary.ts';
import type { Credential } from '../credential/credential.ts';
import type { Problem } from '../problem.ts';
import type { Redacted } from '../redacted.ts';
import type { Service } from '../service.ts';
import type { TokenResponse } from '../token-response/content.ts';
import type { RequestTimes } from '../token-response/expiry.ts';
import { type HttpRequest, problemOf, SendFailure, type SendHttp, type SendLimits } from './send-http.ts';

export type RequestToken = ReturnType<typeof createTokenRequester>;

/** An answer, with the times of the repetition that it answers. */
export interface TokenExchange extends RequestTimes {
  /** An answer with any status. Its body is empty when an answer other than a success broke off after its headers. */
  readonly response: TokenResponse;
  /** The service answered only after a repetition without a post-quantum key exchange. */
  readonly isClassical?: boolean;
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
 * request at most twice, and only without a connection, because then the service cannot have read a byte. A repetition
 * after TLS that did not stand, or was refused, offers classical groups only.
 */
export function createTokenRequester({ sendHttp, now, sleep, random }: Dependencies) {
  return async (service: Service, credential: Credential, deadline: number): Promise<TokenExchange | Unanswered> => {
    const request = buildTokenRequest(service, credential);
    const end = Math.min(deadline, now() + service.requestTimeoutMs);
    let isClassical = false;
    for (let attempts = 1; ; attempts += 1) {
      const requestStartedAt = now();
      const timeoutMs = end - requestStartedAt;
      const handshakeMs = isClassical || timeoutMs < 2 * MIN_REPEAT_MS ? timeoutMs : Math.ceil(timeoutMs / 3);
      const result = await sendOnce({ ...request, isClassical }, { timeoutMs, handshakeMs });
      const isAnswer = !(result instanceof SendFailure);
      if (isAnswer) return { response: result, requestStartedAt, receivedAt: now(), isClassical };
      const isOfGroups: boolean = result.kind === 'handshake' || (!isClassical && isTlsRefusal(result));
      isClassical ||= isOfGroups;

      // Full jitter: instances that failed together do not return together.
      const pauseMs = random() * FIRST_PAUSE_MS * 2 ** (attempts - 1);
      const hasTime = (afterMs: number) => now() + afterMs + MIN_REPEAT_MS <= end;
      const isRepeated = (result.kind === 'connect' || isOfGroups) && attempts < MAX_ATTEMPTS && hasTime(pauseMs);
      if (isRepeated) await sleep(pauseMs);
      // The instance may have been frozen during the pause.
      if (isRepeated && hasTime(0)) continue;
      const isUnheard = ['timeout', 'broken', 'malformed'].includes(result.kind) && result.head === undefined;
      return { problem: problemOf(result, request.url.host), isUnheard };
    }
  };

  async function sendOnce(request: HttpRequest, limits: Omit<SendLimits, 'maxBodyBytes'>) {
    try {
      return await sendHttp(request, { ...limits, maxBodyBytes: MAX_BODY_BYTES });
    } catch (error) {
      if (!(error instanceof SendFailure)) throw error;
      // The status of a 401 or a 429 is enough. If an unreadable body counted as a broken connection, a rejected
      // credential would be sent again until the account is locked.
      return error.head !== undefined && error.head.status >= 300 ? error.head : error;
    }
  }
}

/** Some servers and firewalls answer a large first message of TLS with an alert, which does not name it. */
function isTlsRefusal({ kind, code }: SendFailure): boolean {
  return kind === 'tls' && /^EPROTO(?:$|: no protocol)/.test(code);
}

const MAX_ATTEMPTS = 3;
const FIRST_PAUSE_MS = 100;
/** A repetition with less time would probably be sent and end before its answer. */
const MIN_REPEAT_MS = 250;
const MAX_BODY_BYTES = 256 * 1_024;

/** Builds the token request of a service, authenticated with a credential. */
export function buildTokenRequest(service: Service, credential: Credential): HttpRequest {
  const { parametersIn } = service;
  const { clientId } = credential;
  const parameters = Object.fromEntries(
    Object.entries(service.parameters).map(([name, value]) => [name, value === CLIENT_ID ? clientId.reveal() : value]),
  );
  const form = new URLSearchParams(parameters).toString();
  const body = parametersIn === 'json' ? JSON.stringify(parameters) : parametersIn === 'body' ? form : '';
  // Set as a path and never joined as text. No `tokenPath` can change the host.
  const url = new URL(service.authUrl);
  const [path = '', query = ''] = service.tokenPath.split(/\?(.*)/s, 2);
  url.pathname = url.pathname.replace(/\/$/, '') + path;
  // Some servers do not read a plus in a query as a space.
  const inQuery = parametersIn === 'query' ? form.replaceAll('+', '%20') : '';
  url.search = [query, inQuery].filter((part) => part !== '').join('&');
  const usual = {
    Accept: 'application/json',
    'User-Agent': 'token-broker',
    // An empty form is a form: some servers answer 415 without its type.
    ...(parametersIn !== 'query' && { 'Content-Type': parametersIn === 'json' ? 'application/json' : FORM }),
  };
  // No setting may change these headers.
  const fixed = {
    Authorization: credential.authorization,
    'Accept-Encoding': 'identity',
    'Content-Length': String(new TextEncoder().encode(body).length),
  };
  // Some servers only know the usual capitals. A name of the settings is sent as it is written there.
  const headers = new Map<string, readonly [string, string | Redacted]>();
  for (const group of [usual, service.headers, credential.headers, fixed]) {
    for (const [name, value] of Object.entries(group)) headers.set(name.toLowerCase(), [name, value]);
  }
  const { certificateAuthorities } = service;
  return { method: 'POST', url, headers: Object.fromEntries(headers.values()), body, certificateAuthorities };
}

const FORM = 'application/x-www-form-urlencoded';
