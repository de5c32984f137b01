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
  /** `isUnheard`: the request was sent and brought no status; the service may have rejected it all the same. */
  | { readonly outcome: 'held' | 'failed'; readonly problem: Problem; readonly isUnheard?: boolean | undefined };

/** Makes one token request for a pair, whose lease the caller holds. */
export type ObtainToken = (
  call: Pick<Call, 'pair' | 'service' | 'trace'>,
  attempt: Pick<LeasedRequest, 'version' | 'credential' | 'record' | 'forced'>,
  deadline: number,
) => Promise<Obtained>;

interface Dependencies {
  readonly requestToken: RequestToken;
  readonly fingerprint: (token: string) => string;
  readonly random: () => number;
  readonly now: () => number;
}

/** Sends the token request and reads what came back. A failure is an outcome too: no `Problem` is thrown. */
export function createObtainToken({ requestToken, fingerprint, random, now }: Dependencies): ObtainToken {
  return async (call, attempt, deadline) => {
    const { service, trace } = call;
    trace.tokenRequests += 1;
    const exchange = await requestToken(service, attempt.credential, deadline);
    if ('problem' in exchange) {
      return { outcome: exchange.problem.type === 'token-response-unusable' ? 'held' : 'failed', ...exchange };
    }
    const renewal = read(call, attempt, exchange);
    if (renewal.outcome === 'rejected') trace.warnings.add('rejected');
    const end = Math.min(deadline, exchange.requestStartedAt + service.requestTimeoutMs);
    const isLate = exchange.response.status < 300 && exchange.receivedAt > end;
    if (renewal.outcome === 'token' || !isLate) return renewal;
    // The instance was frozen while it waited: an answer that is of no use now may have been a good token.
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
    const { token: served, hasEcho } = reading;
    if (hasEcho) trace.warnings.add('credential-echoed');
    const name = fingerprint(served.accessToken.reveal());
    const isSame = record.token?.fingerprint === name;
    if (isSame && forced) trace.warnings.add('same-token-again');
    const { requestStartedAt: issuedAt } = times;
    const { expiresAt } = served;
    // A token that is handed out again keeps the longest life time seen of it: a shrinking rest is no shorter life.
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

/** The successor of a token that is too short to be issued comes when it has lapsed. */
function tooShort({ service }: Pair, restMs: number): Problem {
  const retryAfterSeconds = Math.max(1, Math.ceil(restMs / 1_000));
  const detail = `The service ${service} handed out a token that ends in ${retryAfterSeconds} s, too soon to be issued.`;
  return new Problem('token-endpoint-unavailable', detail, { retryAfterSeconds });
}

/**
 * When the soft window of a token begins: the last fifth of its life time, at least twice the hard margin, moved by up to a tenth
 * so that pairs that started together do not stay together.
 */
export function refreshAt(token: Pick<StoredToken, 'expiresAt' | 'lifetimeSeenMs'>, random: number): number {
  const window = Math.max(token.lifetimeSeenMs * WINDOW_SHARE, 2 * hardMarginMs(token.lifetimeSeenMs));
  return token.expiresAt - window * (1 + JITTER * (2 * random - 1));
}

const WINDOW_SHARE = 0.2;
const JITTER = 0.1;
