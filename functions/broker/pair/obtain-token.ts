import { hardMarginMs } from '../../vocabulary.ts';
import type { Pair } from '../pair.ts';
import { Problem } from '../problem.ts';
import type { RequestToken, TokenExchange } from '../token-request/token-request.ts';
import { readTokenResponse } from '../token-response/read.ts';
import type { Call, LeasedRequest } from './call.ts';
import { isIssuable, type StoredToken } from './record.ts';

export type Obtained =
  | { readonly outcome: 'token'; readonly token: StoredToken }
  | { readonly outcome: 'rejected' }
  /** `isUnheard`: the request was sent and no status came back. The service may have rejected it all the same. */
  | { readonly outcome: 'held' | 'failed'; readonly problem: Problem; readonly isUnheard?: boolean | undefined };

/** Makes one token request for a pair. The calling code holds the lease. */
export type ObtainToken = (
  call: Pick<Call, 'pair' | 'service' | 'trace'>,
  request: Pick<LeasedRequest, 'version' | 'credential' | 'record' | 'forced'>,
  deadline: number,
) => Promise<Obtained>;

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

  function read(
    { pair, service, trace }: Parameters<ObtainToken>[0],
    { version, credential, record, forced }: Parameters<ObtainToken>[1],
    { response, ...times }: TokenExchange,
  ): Obtained {
    const reading = readTokenResponse(response, times, service, credential);
    if (reading.outcome !== 'token') return reading;
    const { token: served, warnings } = reading;
    for (const warning of warnings) trace.warnings.add(warning);
    const name = fingerprint(served.accessToken.reveal());
    const isSame = record.token?.fingerprint === name;
    if (isSame && forced) trace.warnings.add('same-token-again');
    const { requestStartedAt: issuedAt } = times;
    const { expiresAt } = served;
    // The same token may come again with less time left. The longest life time counts, so the windows do not shrink.
    const lifetimeSeenMs = Math.max(isSame ? record.token.lifetimeSeenMs : 0, expiresAt - issuedAt);
    const life = { issuedAt, expiresAt, lifetimeSeenMs };
    if (!isIssuable(life, now())) return { outcome: 'failed', problem: tooShort(pair, expiresAt - now()) };
    const token: StoredToken = {
      ...served,
      ...life,
      fingerprint: name,
      credentialVersion: version.versionId,
      refreshAt: refreshAt(life, random()),
      sameTokenAgain: isSame && (forced || record.token.sameTokenAgain),
    };
    return { outcome: 'token', token };
  }
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

const WINDOW_SHARE = 0.2;
const JITTER = 0.1;
