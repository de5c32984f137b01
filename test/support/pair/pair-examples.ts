import { newTrace } from '../../../functions/broker/audit.ts';
import { parseCredential } from '../../../functions/broker/credential/credential.ts';
import type { Call, LeasedRequest } from '../../../functions/broker/pair/call.ts';
import type { ClosedToken, PairRecord, StoredToken, Wait } from '../../../functions/broker/pair/record.ts';
import { EMPTY_RECORD } from '../../../functions/broker/pair/record.ts';
import { Redacted } from '../../../functions/broker/redacted.ts';
import type { ProblemType } from '../../../functions/vocabulary.ts';
import { exampleService, PAIR, START } from '../example.ts';

/** A call that began at `START` and has ten seconds. */
export function exampleCall(changes: Partial<Call> = {}): Call {
  return {
    pair: PAIR,
    service: exampleService(),
    isOnlyService: true,
    settingsDigest: '0000000000000000',
    deadline: START + 10_000,
    trace: newTrace(),
    ...changes,
  };
}

/** A request with the current version, for which the lease was taken at `START`. */
export function exampleRequest(changes: Partial<LeasedRequest> = {}): LeasedRequest {
  const text = new Redacted('{"client_id":"id","secret":"secret"}');
  return {
    lease: { id: 'mine', until: START + 6_000 },
    record: EMPTY_RECORD,
    version: { versionId: 'v1', stage: 'AWSCURRENT', text },
    credential: parseCredential(text, PAIR.service, { basicEncoding: 'raw', isOnlyService: true }),
    holdKey: HOLD_KEY,
    forced: false,
    timeoutMs: 4_000,
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

/** A token where it cannot be opened. */
export function closedToken({ accessToken: _, scope: __, passThrough: ___, ...visible } = exampleToken()): ClosedToken {
  return visible;
}

/** The latches of versions that were each rejected once, at these times. */
export function latches(entries: Readonly<Record<string, number>>, count = 1): PairRecord['rejected'] {
  return new Map(Object.entries(entries).map(([version, at]) => [version, { count, at, by: 'another' }]));
}

/** A pause or a hold. */
export function exampleWait(until: number, type: ProblemType = 'token-endpoint-unavailable', step = 1): Wait {
  return { until, step, problem: { type, detail: 'down' } };
}

/** The token with its secret in the open, to be compared. */
export function revealed(token: PairRecord['token']) {
  return token?.accessToken && { ...token, accessToken: token.accessToken.reveal() };
}

export const HOLD_KEY = 'v1:0123456789abcdef';
export const CHECKED = { version: 'v3', at: START + 0.5, finding: 'accepted' } as const;
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

/** A record that has every member, its token too; an operator has not stopped it. */
export function fullRecord(): PairRecord {
  const unheard = { unheard: true } as const;
  return {
    lease: { id: 'lease-1', until: START + 6_000 },
    token: exampleToken({
      accessToken: new Redacted('ünïcödé.'.repeat(1_000)),
      passThrough: { instance_url: 'https://acme.example', nested: { list: [1, null, 'x'] } },
      lifetimeSeenMs: 7_200_000,
      sameTokenAgain: true,
    }),
    attemptedAt: START + 0.25,
    forcedAt: START - 30_000,
    rejected: new Map([
      ['v1', { count: 1, at: START + 150, by: 'lease-0' }],
      ['v2', { count: 3, at: START, by: '' }],
    ]),
    held: new Map<string, Wait>([
      [HOLD_KEY, WAIT],
      ['v1:other-settings', { ...exampleWait(START, 'token-endpoint-timeout'), ...unheard }],
    ]),
    pause: { ...exampleWait(START + 5, 'internal', 7), ...unheard },
    checked: CHECKED,
    disabled: undefined,
  };
}
