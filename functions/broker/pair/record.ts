import { type Finding, hardMarginMs } from '../../vocabulary.ts';
import { Problem } from '../problem.ts';
import type { ServiceToken } from '../token-response/read.ts';

/** The shared state of a pair: one value, replaced as a whole. Times are epoch milliseconds. */
export interface PairRecord {
  /** The right to make the one token request. `id` is unique for each attempt. */
  readonly lease: { readonly id: string; readonly until: number } | undefined;
  readonly token: StoredToken | ClosedToken | undefined;
  /** The time of the last lease for a caller, or of the last publication. */
  readonly attemptedAt: number;
  /** The time of the last lease that replaces a refused token. */
  readonly forcedAt: number;
  /** Keys are secret versions. */
  readonly rejected: ReadonlyMap<string, Rejection>;
  /** Keys are made by `holdKey`. */
  readonly held: ReadonlyMap<string, Wait>;
  readonly pause: Wait | undefined;
  /** The finding of the last trial. */
  readonly checked: { readonly version: string; readonly at: number; readonly finding: Finding } | undefined;
  /** An operator has stopped the client. Only operators write it. */
  readonly disabled: { readonly since: number } | undefined;
}

/** The part of a token that is stored unsealed. */
export interface VisibleToken extends Pick<ServiceToken, 'tokenType' | 'expiresAt' | 'expirySource'> {
  /** The first 16 hexadecimal digits of the token's SHA-256. */
  readonly fingerprint: string;
  /** The secret version of its token request. */
  readonly credentialVersion: string;
  /** The start of the token request. */
  readonly issuedAt: number;
  /** The longest life time seen. The same token with less time left must not shrink the windows. */
  readonly lifetimeSeenMs: number;
  /** One instance at a time tries to obtain a successor after this moment. */
  readonly refreshAt: number;
  /** The service issued this token again after it was refused. Refusals of it count again after a pause. */
  readonly sameTokenAgain: boolean;
}

/** The token of a pair, with the times that decide until when it is issued. */
export interface StoredToken extends VisibleToken, ServiceToken {}

/** A token that cannot be opened here: of another key or format, altered or swapped. It still proves its version. */
export interface ClosedToken extends VisibleToken {
  readonly accessToken?: undefined;
}

/** A latch: the count of rejected requests, the time of the last, and the lease that counted it. */
export interface Rejection {
  readonly count: number;
  readonly at: number;
  readonly by: string;
}

/** A pause of the pair or a hold of a version: its end, and the problem that callers see until then. */
export interface Wait {
  readonly until: number;
  /** The number of waits since the last success, including this one. */
  readonly step: number;
  readonly problem: Pick<Problem, 'type' | 'detail'> & Partial<Pick<Problem, 'shape'>>;
  /** The request was sent and no status came back. */
  readonly unheard?: true | undefined;
}

export const EMPTY_RECORD: PairRecord = {
  lease: undefined,
  token: undefined,
  attemptedAt: 0,
  forcedAt: 0,
  rejected: new Map(),
  held: new Map(),
  pause: undefined,
  checked: undefined,
  disabled: undefined,
};

/** Combines a version and its settings, so that releases with other settings have holds of their own. */
export function holdKey(version: string, settingsDigest: string): string {
  return `${version}:${settingsDigest}`;
}

/** Returns whether a caller may still receive the token. */
export function isIssuable(
  { expiresAt, lifetimeSeenMs, refreshAt }: Pick<VisibleToken, 'expiresAt' | 'lifetimeSeenMs' | 'refreshAt'>,
  now: number,
): boolean {
  // A service that repeats its token to the end has no other token sooner.
  return expiresAt - now > Math.max(0, Math.min(hardMarginMs(lifetimeSeenMs), expiresAt - refreshAt));
}

/** Returns the token if this instance can open it and may still issue it. */
export function livingToken({ token }: Partial<PairRecord>, now: number): StoredToken | undefined {
  return token?.accessToken && isIssuable(token, now) ? token : undefined;
}

/** Returns whether the service has accepted the version. Silence is then no rejection. */
export function isProven({ token, checked }: PairRecord, version: string): boolean {
  return token?.credentialVersion === version || (checked?.finding === 'accepted' && checked.version === version);
}

/** A rejected version gets two more chances. After those only an operator or a new version helps. */
export function isLatched(rejection: Rejection | undefined, now: number): boolean {
  if (rejection === undefined) return false;
  const delayMs = CHANCE_DELAYS_MS[rejection.count - 1];
  return delayMs === undefined || now < rejection.at + delayMs;
}

/** Returns the problem that a caller sees during a pause or a hold. */
export function waitProblem({ problem, until }: Wait, now: number, cause?: unknown): Problem {
  const { type, detail, shape } = problem;
  return new Problem(type, detail, { shape, retryAfterSeconds: Math.max(1, Math.ceil((until - now) / 1_000)), cause });
}

/** Drops timestamps that are too far in the future for any correct clock. Leases need their length: see `watch`. */
export function withoutFutureTimes(record: PairRecord, now: number): PairRecord {
  const { token, rejected, held, pause, checked } = record;
  const isNear = (wait: Wait, maxMs: number) => wait.until <= now + maxMs + MAX_CLOCK_DIFFERENCE_MS;
  return {
    ...record,
    token: token && notAhead(token.issuedAt, now) > 0 ? token : undefined,
    attemptedAt: notAhead(record.attemptedAt, now),
    forcedAt: notAhead(record.forcedAt, now),
    // Without a time the next chance is due. The count stays.
    rejected: new Map([...rejected].map(([version, latch]) => [version, { ...latch, at: notAhead(latch.at, now) }])),
    held: new Map([...held].filter(([, hold]) => isNear(hold, MAX_HOLD_MS))),
    // The next release writes pauses of an hour, for a service that answers 429 and asks for it.
    pause: pause && isNear(pause, MAX_HOLD_MS) ? pause : undefined,
    checked: checked && notAhead(checked.at, now) > 0 ? checked : undefined,
  };
}

function notAhead(time: number, now: number): number {
  return time <= now + MAX_CLOCK_DIFFERENCE_MS ? time : 0;
}

/** The longest pause, also when a service asks for more with `Retry-After`. */
export const MAX_PAUSE_MS = 300_000;
export const MAX_HOLD_MS = 60 * 60_000;
/** The doubling of waits starts again this long after the last wait. */
export const KEPT_WAIT_MS = 24 * 60 * 60_000;
/** The difference of two clocks that are each off by 30 s. */
export const MAX_CLOCK_DIFFERENCE_MS = 60_000;
/** The waits after the first and the second rejected request. Three requests are the lock-out budget. */
const CHANCE_DELAYS_MS = [15 * 60_000, 120 * 60_000];
