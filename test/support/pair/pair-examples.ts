import { expect } from 'vitest';
import { newTrace } from '../../../functions/broker/audit.ts';
import type { Call } from '../../../functions/broker/pair/decision.ts';
import type { CheckedVersion, PairRecord, StoredToken, Wait } from '../../../functions/broker/pair/record.ts';
import type { Acquisition, Ending } from '../../../functions/broker/pair/store.ts';
import { Redacted } from '../../../functions/broker/redacted.ts';
import type { ProblemType } from '../../../functions/contract.ts';
import { exampleService, START } from '../example.ts';

/** A call that began at `START` and has ten seconds. */
export function exampleCall(changes: Partial<Call> = {}): Call {
  return {
    pair: { client: 'acme', service: 'customer-insights' },
    service: exampleService(),
    isOnlyService: true,
    settingsDigest: '0000000000000000',
    startedAt: START,
    deadline: START + 10_000,
    owner: 'me',
    trace: newTrace(),
    ...changes,
  };
}

/** A token that lives for an hour from `START`. */
export function exampleToken(changes: Partial<StoredToken> = {}): StoredToken {
  const { issuedAt = START, expiresAt = START + 3_600_000 } = changes;
  return {
    accessToken: new Redacted('example-token'),
    tokenType: 'Bearer',
    expiresAt,
    expirySource: 'response',
    scope: 'read write',
    passThrough: {},
    fingerprint: '0123456789abcdef',
    credentialVersion: 'v1',
    issuedAt,
    lifetimeSeenMs: expiresAt - issuedAt,
    // Jitter makes fractions of milliseconds.
    refreshAt: START + 2_880_000.123,
    sameTokenAgain: false,
    ...changes,
  };
}

/** A token that has lived for one of its two hours at `START`; its renewal is due 50 minutes later. */
export function oldToken(): StoredToken {
  const { scope: _, ...token } = exampleToken();
  return {
    ...token,
    accessToken: new Redacted('old'),
    fingerprint: 'old0000000000000',
    issuedAt: START - 3_600_000,
    lifetimeSeenMs: 7_200_000,
    refreshAt: START + 3_000_000,
  };
}

/** A pause or a hold. */
export function exampleWait(until: number, type: ProblemType = 'token-endpoint-unavailable', step = 1): Wait {
  return { until, step, problem: { type, detail: 'down' } };
}

/** A first attempt at the empty record, at `START` for six seconds. */
export function exampleAcquisition(changes: Partial<Acquisition> = {}): Acquisition {
  const now = changes.now ?? START;
  return {
    seenFence: 0,
    owner: 'me',
    now,
    until: now + 6_000,
    observedExpired: false,
    forced: false,
    chargedVersion: undefined,
    isCheck: false,
    ...changes,
  };
}

/** The token with its secret in the open, to be compared. */
export function revealed(token: StoredToken | undefined) {
  return token && { ...token, accessToken: token.accessToken.reveal() };
}

export const HOLD_KEY = 'v1:0123456789abcdef';
export const CHECKED: CheckedVersion = { version: 'v3', at: START + 0.5, finding: 'accepted' };
export const WAIT = {
  until: START + 4_000,
  step: 3,
  problem: {
    type: 'token-response-unusable',
    detail: 'The answer holds no token – at all.',
    shape: {
      status: 200,
      contentType: 'application/json',
      bytes: 2,
      members: [{ path: '$', type: 'object', length: 0 }],
    },
  },
} as const;
export const RELEASE: Ending = { kind: 'release' };
export const PROVE = { kind: 'prove', version: 'v1', holdKey: HOLD_KEY } satisfies Ending;
export const PAUSE = { kind: 'pause', pause: WAIT } satisfies Ending;

export function publish(token = exampleToken()) {
  return { kind: 'publish', token, holdKey: HOLD_KEY } satisfies Ending;
}

export function hold(key: string) {
  return { kind: 'hold', key, hold: WAIT, expiredKeys: [] } satisfies Ending;
}

/** Each way to end a lease, and what it changes in a record that holds none of this. */
export const ENDINGS: readonly [Ending['kind'], Ending, (before: PairRecord) => object][] = [
  [
    'publish',
    publish(),
    () => ({ token: expect.objectContaining({ fingerprint: exampleToken().fingerprint, lifetimeSeenMs: 3_600_000 }) }),
  ],
  ['prove', PROVE, () => ({})],
  ['pause', PAUSE, () => ({ pause: WAIT })],
  ['hold', hold(HOLD_KEY), ({ held }) => ({ held: new Map([...held, [HOLD_KEY, WAIT]]) })],
  ['withdraw', { kind: 'withdraw' }, () => ({})],
  ['release', RELEASE, () => ({})],
];
