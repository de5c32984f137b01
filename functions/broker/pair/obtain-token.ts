import { hardMarginMs } from '../../vocabulary.ts';
import type { Pair } from '../pair.ts';
import { Problem } from '../problem.ts';
import type { RequestToken, TokenExchange } from '../token-request/token-request.ts';
import type { RequestTimes } from '../token-response/expiry.ts';
import { readTokenResponse } from '../token-response/read.ts';
import type { Call, LeasedRequest } from './call.ts';
import { isIssuable, type StoredToken, type VisibleToken } from './record.ts';

export type Obtained =
  | { readonly outcome: 'token'; readonly token: StoredToken }
  | { readonly outcome: 'rejected' }
  /** `isUnheard`: the request was sent and no status came back. The service may have rejected it all the same. */
  | { readonly outcome: 'held' | 'failed'; readonly problem: Problem; readonly isUnheard?: boolean | undefined };

/** Makes one token request for a pair. The calling code holds the lease. */
export type ObtainToken = (call: Call, request: LeasedRequest, deadline: number) => Promise<Obtained>;

interface Dependencies {
  readonly requestToken: RequestToken;
  readonly fingerprint: (token: string) => string;
  readonly random: () => number;
  readonly now: () => number;
}

/** Sends the token request and reads the answer. A failure is an outcome too: throws no `Problem`. */
export function createObtainToken({ requestToken, fingerprint, random, now }: Dependencies): ObtainToken {
  return async (call, request, deadline) => {
    const { service, trace } = call;
    trace.tokenRequests += 1;
    const exchange = await requestToken(service, request.credential, deadline);
    if ('problem' in exchange) {
      return { outcome: exchange.problem.type === 'token-response-unusable' ? 'held' : 'failed', ...exchange };
    }
    if (exchange.isClassical) trace.warnings.add('classical-tls');
    const obtained = read(call, request, exchange);
    if (obtained.outcome === 'rejected') trace.warnings.add('rejected');
    const end = Math.min(deadline, exchange.requestStartedAt + service.requestTimeoutMs);
    const isLate = exchange.response.status < 300 && exchange.receivedAt > end;
    if (obtained.outcome === 'token' || !isLate) return obtained;
    // The instance was frozen while it waited. An answer that is useless now may have been a good token.
    const late = `The answer of the service ${call.pair.service} was read long after its time-out.`;
    return { outcome: 'failed', problem: new Problem('token-endpoint-timeout', late) };
  };

  function read({ pair, service, trace }: Call, request: LeasedRequest, exchange: TokenExchange): Obtained {
    const { version, credential, record, forced } = request;
    const { response, ...times } = exchange;
    const reading = readTokenResponse(response, times, service, credential);
    if (reading.outcome !== 'token') {
      const { lapsed, ...refusal } = reading;
      // The service repeats its token to the end, which is no fault of the settings.
      const isLapsed = lapsed !== undefined && fingerprint(lapsed.reveal()) === record.token?.fingerprint;
      return isLapsed ? { outcome: 'failed', problem: tooShort(pair, 0) } : refusal;
    }
    const { token: served, warnings } = reading;
    for (const warning of warnings) trace.warnings.add(warning);
    const name = fingerprint(served.accessToken.reveal());
    const before = record.token?.fingerprint === name ? record.token : undefined;
    if (before && forced) trace.warnings.add('same-token-again');
    const life = lifeOf(served, before, times, service.requestTimeoutMs);
    const token: StoredToken = {
      ...served,
      ...life,
      fingerprint: name,
      credentialVersion: version.versionId,
      refreshAt: before && !forced ? repeatedRefreshAt(before, life) : refreshAt(life, random()),
      sameTokenAgain: before !== undefined && (forced || before.sameTokenAgain),
    };
    if (!isIssuable(token, now())) return { outcome: 'failed', problem: tooShort(pair, token.expiresAt - now()) };
    return { outcome: 'token', token };
  }
}

/**
 * Returns the times of a token. The same token never ends later than it was first said to, because a service may say
 * its whole life time each time. That holds for the time of a request after its end too, because the service may have
 * counted from the end of its first answer. The longest life time counts, so the windows do not shrink.
 */
function lifeOf(
  { expiresAt: saidAt }: Pick<StoredToken, 'expiresAt'>,
  before: VisibleToken | undefined,
  { requestStartedAt: issuedAt, receivedAt }: RequestTimes,
  requestTimeoutMs: number,
) {
  // An assumption is nothing that the service has said.
  const isSaid = before !== undefined && before.expirySource !== 'assumed';
  const isBound = isSaid && before.expiresAt + requestTimeoutMs > receivedAt;
  const expiresAt = isBound ? Math.min(before.expiresAt, saidAt) : saidAt;
  return { issuedAt, expiresAt, lifetimeSeenMs: Math.max(before?.lifetimeSeenMs ?? 0, expiresAt - issuedAt) };
}

/** A token that expires too soon to be issued. The service issues its successor after that. */
function tooShort({ service }: Pair, restMs: number): Problem {
  const retryAfterSeconds = Math.max(1, Math.ceil(restMs / 1_000));
  const detail = `The service ${service} handed out a token that ends in ${retryAfterSeconds} s, too soon to be issued.`;
  return new Problem('token-endpoint-unavailable', detail, { retryAfterSeconds });
}

/**
 * Returns the beginning of a token's soft window: the last fifth of its life time, at least twice the hard margin.
 * The jitter of a tenth keeps pairs that started together apart.
 */
export function refreshAt(token: Pick<StoredToken, 'expiresAt' | 'lifetimeSeenMs'>, random: number): number {
  const window = Math.max(token.lifetimeSeenMs * WINDOW_SHARE, 2 * hardMarginMs(token.lifetimeSeenMs));
  return token.expiresAt - window * (1 + JITTER * (2 * random - 1));
}

/**
 * Returns the beginning of the soft window of a token that came again. Once it came again in that window, its service
 * repeats it to the end, so no instance asks again before.
 */
function repeatedRefreshAt(before: VisibleToken, { issuedAt, expiresAt }: Pick<StoredToken, 'issuedAt' | 'expiresAt'>) {
  const lastAt = expiresAt - REPEATED_MARGIN_MS;
  return issuedAt >= before.refreshAt ? lastAt : Math.min(before.refreshAt, lastAt);
}

const REPEATED_MARGIN_MS = 3_000;
const WINDOW_SHARE = 0.2;
const JITTER = 0.1;
