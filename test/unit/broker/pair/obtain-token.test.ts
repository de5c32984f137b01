import { describe, expect, it } from 'vitest';
import { newTrace } from '../../../../functions/broker/audit.ts';
import { parseCredential } from '../../../../functions/broker/credential/credential.ts';
import { createObtainToken } from '../../../../functions/broker/pair/obtain-token.ts';
import { EMPTY_RECORD, type PairRecord, type StoredToken } from '../../../../functions/broker/pair/record.ts';
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
  const life = { expiresAt: START + 100 * SECOND_MS, lifetimeSeenMs: 3_600 * SECOND_MS };
  const record = { token: exampleToken({ fingerprint: 'name of same', ...life }) };
  const same = { record, members: tokenFor('same', 100) };

  it('keeps its windows, however little time it has left, and can still be refused', async () => {
    const token = await renewed(same);
    expect(token).toMatchObject({ lifetimeSeenMs: 3_600 * SECOND_MS, sameTokenAgain: false });
    expect(token.expiresAt - token.refreshAt).toBe(720 * SECOND_MS);
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
    const detail = expect.stringContaining('ends in 30 s, too soon');
    const problem = { type: 'token-endpoint-unavailable', detail, retryAfterSeconds: 30 };
    const { renewal } = await renew({ record, members: tokenFor('same', 30) });
    expect(renewal).toMatchObject({ outcome: 'failed', problem });
    expect((await renew({ members: tokenFor('unknown', 30) })).renewal.outcome).toBe('token');
  });
});
