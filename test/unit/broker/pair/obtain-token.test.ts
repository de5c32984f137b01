import { describe, expect, it } from 'vitest';
import { newTrace } from '../../../../functions/broker/audit.ts';
import { parseCredential } from '../../../../functions/broker/credential/credential.ts';
import { createObtainToken } from '../../../../functions/broker/pair/obtain-token.ts';
import {
  EMPTY_RECORD,
  isIssuable,
  type PairRecord,
  type StoredToken,
} from '../../../../functions/broker/pair/record.ts';
import { Problem } from '../../../../functions/broker/problem.ts';
import { Redacted } from '../../../../functions/broker/redacted.ts';
import type { Service } from '../../../../functions/broker/service.ts';
import type { RequestToken } from '../../../../functions/broker/token-request/token-request.ts';
import type { ProblemType } from '../../../../functions/vocabulary.ts';
import { exchange, ISSUE_REQUEST } from '../../../support/broker-world.ts';
import { exampleService, SECOND_MS, START } from '../../../support/example.ts';
import { exampleToken } from '../../../support/pair/pair-examples.ts';

const { pair } = ISSUE_REQUEST;
const text = new Redacted('{"client_id":"id","secret":"password"}');

interface Changes {
  readonly status?: number;
  readonly members?: object;
  /** In place of an answer. */
  readonly failure?: Awaited<ReturnType<RequestToken>>;
  readonly latencyMs?: number;
  readonly record?: Partial<PairRecord>;
  readonly forced?: boolean;
  readonly service?: Partial<Service>;
}

/** One renewal with version v2, whose service answers by default with the token `new` for ten minutes. */
async function renew({ status = 200, members = tokenFor('new', 600), latencyMs = 400, ...changes }: Changes = {}) {
  const receivedAt = START + latencyMs;
  const service = exampleService(changes.service);
  const trace = newTrace();
  const renewToken = createObtainToken({
    requestToken: async () => changes.failure ?? { ...exchange(status, members), receivedAt },
    fingerprint: (token) => `name of ${token}`,
    random: () => 0.5,
    now: () => receivedAt,
  });
  const attempt = {
    version: { versionId: 'v2', stage: 'AWSCURRENT', text },
    credential: parseCredential(text, pair.service, { ...service, isOnlyService: true }),
    record: { ...EMPTY_RECORD, ...changes.record },
    forced: changes.forced ?? false,
  } as const;
  const renewal = await renewToken({ pair, service, trace }, attempt, START + 5_000);
  return { renewal, trace };
}

function tokenFor(token: string, seconds: number) {
  return { access_token: token, expires_in: seconds };
}

/** The token that there is to publish. */
async function renewed(changes: Changes = {}): Promise<StoredToken> {
  const { renewal } = await renew(changes);
  return renewal.outcome === 'token' ? renewal.token : expect.fail(`the outcome is ${renewal.outcome}`);
}

describe('a token request', () => {
  it('brings a token whose life counts from the start of the request', async () => {
    expect(await renewed()).toMatchObject({
      fingerprint: 'name of new',
      credentialVersion: 'v2',
      issuedAt: START,
      expiresAt: START + 600 * SECOND_MS,
      lifetimeSeenMs: 600 * SECOND_MS,
      // The last fifth.
      refreshAt: START + 480 * SECOND_MS,
      sameTokenAgain: false,
    });
  });

  it('that is rejected says so, with a warning, and is counted', async () => {
    const { renewal, trace } = await renew({ status: 401 });
    expect(renewal).toMatchObject({ outcome: 'rejected' });
    expect(trace).toEqual({ tokenRequests: 1, warnings: new Set(['rejected']) });
  });

  it.each<[ProblemType, string, boolean]>([
    ['token-response-unusable', 'held', false],
    ['token-endpoint-unavailable', 'failed', false],
    ['token-endpoint-timeout', 'failed', true],
  ])('that gets no complete answer, "%s", is %s', async (type, outcome, isUnheard) => {
    const failure = { problem: new Problem(type, 'down'), isUnheard };
    expect((await renew({ failure })).renewal).toEqual({ outcome, ...failure });
  });
});

describe('an instance that is frozen for 20 minutes while it waits', () => {
  const latencyMs = 20 * 60_000;

  it.each([
    ['has expired', tokenFor('late', 600)],
    ['is too short to be issued', tokenFor('late', latencyMs / SECOND_MS + 10)],
  ])('has met a time-out when the token %s', async (_, members) => {
    const problem = { type: 'token-endpoint-timeout' };
    expect((await renew({ members, latencyMs })).renewal).toMatchObject({ outcome: 'failed', problem });
  });

  it.each([
    [3_000, 3_000, 'held'],
    [3_000, 3_001, 'failed'],
    [6_000, 5_000, 'held'],
    [6_000, 5_001, 'failed'],
  ])('is one beyond the time-out or the deadline: %i ms, waited %i ms', async (requestTimeoutMs, waitedMs, outcome) => {
    const order = { members: tokenFor('late', 3), latencyMs: waitedMs, service: { requestTimeoutMs } };
    expect((await renew(order)).renewal.outcome).toBe(outcome);
  });

  it.each([
    [200, 'token'],
    [401, 'rejected'],
    [404, 'held'],
    [503, 'failed'],
  ])('believes a %i, which does not age while its token lives', async (status, outcome) => {
    const { renewal } = await renew({ status, members: tokenFor('late', 86_400), latencyMs });
    expect(renewal.outcome).toBe(outcome);
    expect(renewal).not.toMatchObject({ problem: { type: 'token-endpoint-timeout' } });
  });
});

describe('a token that the service hands out again', () => {
  const life = { expiresAt: START + 100 * SECOND_MS, lifetimeSeenMs: 3_600 * SECOND_MS, refreshAt: START };
  const record = { token: exampleToken({ fingerprint: 'name of same', expirySource: 'response', ...life }) };
  const same = { record, members: tokenFor('same', 100) };

  it('keeps its longest life time, however little it has left, and can still be refused', async () => {
    expect(await renewed(same)).toMatchObject({ lifetimeSeenMs: 3_600 * SECOND_MS, sameTokenAgain: false });
  });

  // @see spring-attic/spring-security-oauth#975, IdentityModel/IdentityModel.AspNetCore#151
  it('never ends later than it was first said to, while that end is ahead', async () => {
    const whole = tokenFor('same', 3_600);
    expect(await renewed({ ...same, members: whole })).toMatchObject({ expiresAt: life.expiresAt });
    expect(await renewed({ ...same, members: whole, forced: true })).toMatchObject({ expiresAt: life.expiresAt });
    expect((await renewed({ ...same, members: tokenFor('same', 90) })).expiresAt).toBe(START + 90 * SECOND_MS);
    const assumed = { token: exampleToken({ ...record.token, expirySource: 'assumed' }) };
    expect((await renewed({ members: whole, record: assumed })).expiresAt).toBe(START + 3_600 * SECOND_MS);
    const other = tokenFor('other', 3_600);
    expect((await renewed({ ...same, members: other })).expiresAt).toBe(START + 3_600 * SECOND_MS);
  });

  // @see nuts-foundation/nuts-node#3688, ExpressGateway/express-gateway#1066
  it('is dead for the time of a request after that end, because the service may have counted later', async () => {
    const again = (expiresAt: number) =>
      renew({ members: tokenFor('same', 3_600), record: { token: exampleToken({ ...record.token, expiresAt }) } });
    const problem = { type: 'token-endpoint-unavailable', retryAfterSeconds: 1 };
    expect((await again(START + 400 - 3_999)).renewal).toMatchObject({ outcome: 'failed', problem });
    const token = { expiresAt: START + 3_600 * SECOND_MS };
    expect((await again(START + 400 - 4_000)).renewal).toMatchObject({ outcome: 'token', token });
  });

  it('is issued until 3 s before its end, when it came again in its soft window: its service repeats it', async () => {
    const token = await renewed({ ...same, members: tokenFor('same', 20) });
    expect(token.refreshAt).toBe(token.expiresAt - 3_000);
    expect([token.refreshAt - 1, token.refreshAt].map((at) => isIssuable(token, at))).toEqual([true, false]);
    const again = await renewed({ record: { token }, members: tokenFor('same', 10) });
    expect(again.refreshAt).toBe(again.expiresAt - 3_000);
  });

  it('keeps its soft window, when it came again before that window or was refused', async () => {
    const early = { token: exampleToken({ ...record.token, refreshAt: START + 50 * SECOND_MS }) };
    expect((await renewed({ ...same, record: early })).refreshAt).toBe(START + 50 * SECOND_MS);
    const token = await renewed({ ...same, forced: true });
    expect(token.expiresAt - token.refreshAt).toBe(720 * SECOND_MS);
  });

  it('is unavailable, and no fault of the settings, when it has expired on arrival', async () => {
    const problem = { type: 'token-endpoint-unavailable', retryAfterSeconds: 1 };
    const { renewal } = await renew({ record, members: tokenFor('same', 0) });
    expect(renewal).toMatchObject({ outcome: 'failed', problem });
    const unknown = (await renew({ record, members: tokenFor('unknown', 0) })).renewal;
    expect(unknown).toMatchObject({ outcome: 'held', problem: { type: 'token-response-unusable' } });
    expect(unknown).not.toHaveProperty('lapsed');
  });

  it('is not worth refusing again once it has been refused in vain', async () => {
    const { trace } = await renew({ ...same, forced: true });
    expect([...trace.warnings]).toEqual(['same-token-again']);
    expect((await renew({ record, forced: true })).trace.warnings).toEqual(new Set());
    const token = await renewed({ ...same, forced: true });
    expect(token.sameTokenAgain).toBe(true);

    expect(await renewed({ ...same, record: { token } })).toMatchObject({ sameTokenAgain: true });
    const other = { sameTokenAgain: false, lifetimeSeenMs: 600 * SECOND_MS };
    expect(await renewed({ record: { token } })).toMatchObject(other);
  });

  it('within its hard margin is a problem until it has lapsed', async () => {
    const detail = expect.stringContaining('ends in 3 s, too soon');
    const problem = { type: 'token-endpoint-unavailable', detail, retryAfterSeconds: 3 };
    const { renewal } = await renew({ record, members: tokenFor('same', 3) });
    expect(renewal).toMatchObject({ outcome: 'failed', problem });
    expect((await renew({ members: tokenFor('unknown', 30) })).renewal.outcome).toBe('token');
  });
});
