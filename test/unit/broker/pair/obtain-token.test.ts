import { describe, expect, it } from 'vitest';
import { newTrace } from '../../../../functions/broker/audit.ts';
import { createObtainToken } from '../../../../functions/broker/pair/obtain-token.ts';
import {
  EMPTY_RECORD,
  isIssuable,
  type PairRecord,
  type StoredToken,
} from '../../../../functions/broker/pair/record.ts';
import { Problem } from '../../../../functions/broker/problem.ts';
import type { Service } from '../../../../functions/broker/service.ts';
import type { RequestToken } from '../../../../functions/broker/token-request/token-request.ts';
import type { ProblemType } from '../../../../functions/vocabulary.ts';
import { exchange } from '../../../support/broker-world.ts';
import { exampleService, HOUR_MS, SECOND_MS, START } from '../../../support/example.ts';
import { exampleCall, exampleRequest, exampleToken } from '../../../support/pair/pair-examples.ts';

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
async function renew({
  status = 200,
  members = tokenFor('new', 600),
  latencyMs = 400,
  forced = false,
  ...changes
}: Changes = {}) {
  const receivedAt = START + latencyMs;
  const service = exampleService(changes.service);
  const trace = newTrace();
  const renewToken = createObtainToken({
    requestToken: async () => changes.failure ?? { ...exchange(status, members), receivedAt },
    fingerprint: (token) => `name of ${token}`,
    random: () => 0.5,
    now: () => receivedAt,
  });
  const record = { ...EMPTY_RECORD, ...changes.record };
  const request = exampleRequest({ version: { ...exampleRequest().version, versionId: 'v2' }, record, forced });
  const renewal = await renewToken(exampleCall({ service, trace }), request, START + 5_000);
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

  it('leaves the warnings of its answer', async () => {
    const { trace } = await renew({ members: { ...tokenFor('new', 90_000), scope: 'secret' } });
    expect(trace.warnings).toEqual(new Set(['lifetime-cut', 'credential-echoed']));
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
  const life = { expiresAt: START + 100 * SECOND_MS, lifetimeSeenMs: HOUR_MS, refreshAt: START };
  const token = exampleToken({ fingerprint: 'name of same', ...life });
  const withToken = (changes: Partial<StoredToken>) => ({ record: { token: { ...token, ...changes } } });
  const whole = { record: { token }, members: tokenFor('same', 3_600) };
  const same = { ...whole, members: tokenFor('same', 100) };

  const other = { ...whole, members: tokenFor('other', 600) };
  const assumed = { ...whole, ...withToken({ expirySource: 'assumed' }) };
  const again = withToken({ sameTokenAgain: true });
  const early = { ...same, ...withToken({ refreshAt: START + 50 }) };

  it.each<[string, Changes, Partial<StoredToken>]>([
    ['keeps its longest life time, and can still be refused', same, { lifetimeSeenMs: HOUR_MS, sameTokenAgain: false }],
    // @see spring-attic/spring-security-oauth#975, IdentityModel/IdentityModel.AspNetCore#151
    ['never ends later than it was first said to, while that end is ahead', whole, { expiresAt: life.expiresAt }],
    ['never ends later when it was refused', { ...whole, forced: true }, { expiresAt: life.expiresAt }],
    ['ends sooner when that is said', { ...same, members: tokenFor('same', 90) }, { expiresAt: START + 90_000 }],
    ['may end later than it was assumed to', assumed, { expiresAt: START + HOUR_MS }],
    ['has no part in the life of another', other, { expiresAt: START + 600_000, lifetimeSeenMs: 600_000 }],
    ['keeps its soft window before that', early, { refreshAt: START + 50 }],
    ['keeps its soft window when it was refused', { ...same, forced: true }, { refreshAt: START - 620_000 }],
    ['is not worth refusing again once it was refused in vain', { ...same, forced: true }, { sameTokenAgain: true }],
    ['stays so when it comes again', { ...same, ...again }, { sameTokenAgain: true }],
    ['stays so until another one comes', { ...other, ...again }, { sameTokenAgain: false }],
  ])('%s', async (_, changes, expected) => {
    expect(await renewed(changes)).toMatchObject(expected);
  });

  // @see nuts-foundation/nuts-node#3688, ExpressGateway/express-gateway#1066
  it('is dead for the time of a request after that end, because the service may have counted later', async () => {
    const endedAt = async (expiresAt: number) => (await renew({ ...whole, ...withToken({ expiresAt }) })).renewal;
    const problem = { type: 'token-endpoint-unavailable', retryAfterSeconds: 1 };
    expect(await endedAt(START + 400 - 3_999)).toMatchObject({ outcome: 'failed', problem });
    expect(await endedAt(START + 400 - 4_000)).toMatchObject({ token: { expiresAt: START + HOUR_MS } });
  });

  it('is issued until 3 s before its end, when it came again in its soft window: its service repeats it', async () => {
    const repeated = await renewed({ ...same, members: tokenFor('same', 20) });
    expect(repeated.refreshAt).toBe(repeated.expiresAt - 3_000);
    expect([-1, 0].map((ms) => isIssuable(repeated, repeated.refreshAt + ms))).toEqual([true, false]);
    const last = await renewed({ record: { token: repeated }, members: tokenFor('same', 10) });
    expect(last.refreshAt).toBe(last.expiresAt - 3_000);
  });

  it('is unavailable, and no fault of the settings, when it has expired on arrival', async () => {
    const problem = { type: 'token-endpoint-unavailable', retryAfterSeconds: 1 };
    const { renewal } = await renew({ ...same, members: tokenFor('same', 0) });
    expect(renewal).toMatchObject({ outcome: 'failed', problem });
    const unknown = (await renew({ ...same, members: tokenFor('unknown', 0) })).renewal;
    expect(unknown).toMatchObject({ outcome: 'held', problem: { type: 'token-response-unusable' } });
    expect(unknown).not.toHaveProperty('lapsed');
  });

  it('leaves a warning when it was refused, and only then', async () => {
    const warningsOf = async (changes: Changes) => [...(await renew(changes)).trace.warnings];
    expect(await warningsOf({ ...same, forced: true })).toEqual(['same-token-again']);
    expect([await warningsOf(same), await warningsOf({ ...other, forced: true })]).toEqual([[], []]);
  });

  it('within its hard margin is a problem until it has lapsed', async () => {
    const detail = expect.stringContaining('ends in 3 s, too soon');
    const problem = { type: 'token-endpoint-unavailable', detail, retryAfterSeconds: 3 };
    const { renewal } = await renew({ ...same, members: tokenFor('same', 3) });
    expect(renewal).toMatchObject({ outcome: 'failed', problem });
    expect((await renew({ members: tokenFor('unknown', 30) })).renewal.outcome).toBe('token');
  });
});
