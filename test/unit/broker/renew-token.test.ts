import { describe, expect, it } from 'vitest';
import { newTrace } from '../../../functions/broker/audit.ts';
import { parseCredential } from '../../../functions/broker/credential/credential.ts';
import { EMPTY_RECORD, type PairRecord, type StoredToken } from '../../../functions/broker/pair/record.ts';
import { Problem } from '../../../functions/broker/problem.ts';
import { Redacted } from '../../../functions/broker/redacted.ts';
import { createTokenRenewer } from '../../../functions/broker/token-request/renew-token.ts';
import type { TokenExchange } from '../../../functions/broker/token-request/token-request.ts';
import { exchange, ISSUE_REQUEST } from '../../support/broker-world.ts';
import { exampleService, START } from '../../support/example.ts';
import { exampleToken } from '../../support/pair-examples.ts';

const SECOND_MS = 1_000;
const LATENCY_MS = 400;
const VERSION = {
  versionId: 'v2',
  stage: 'AWSCURRENT' as const,
  text: new Redacted('{"client_id":"id","secret":"password"}'),
};

interface Changes {
  readonly answer?: TokenExchange | Error;
  readonly record?: Partial<PairRecord>;
  readonly forced?: boolean;
  readonly requestStartedAt?: number;
  readonly receivedAt?: number;
}

async function renew({ answer = tokenAnswer('new', 600), record, forced = false, ...times }: Changes = {}) {
  const { requestStartedAt = START - LATENCY_MS, receivedAt = START } = times;
  const sent: unknown[] = [];
  const trace = newTrace();
  const service = exampleService();
  const { pair } = ISSUE_REQUEST;
  const renewToken = createTokenRenewer({
    requestToken: async (_, { clientId, secret }, deadline) => {
      sent.push([clientId.reveal(), secret.reveal(), deadline]);
      if (answer instanceof Error) throw answer;
      return { ...answer, requestStartedAt, receivedAt };
    },
    fingerprint: (token) => `name of ${token}`,
    random: () => 0.5,
    now: () => receivedAt,
  });
  const result = await renewToken({
    pair,
    service,
    version: VERSION,
    credential: parseCredential(VERSION.text, pair.service, service.basicEncoding),
    record: { ...EMPTY_RECORD, ...record },
    forced,
    deadline: START + 5_000,
    trace,
  });
  return { result, trace, sent };
}

function tokenAnswer(token: string, seconds?: number): TokenExchange {
  return exchange(200, { access_token: token, expires_in: seconds });
}

/** The token that there is to publish. */
async function renewal(changes: Changes): Promise<StoredToken> {
  const { result } = await renew(changes);
  return result.outcome === 'token' ? result.token : expect.fail(`the outcome is ${result.outcome}`);
}

describe('a token request', () => {
  it('brings a token whose life counts from the start of the request', async () => {
    const issuedAt = START - LATENCY_MS;
    expect(await renewal({})).toMatchObject({
      fingerprint: 'name of new',
      credentialVersion: 'v2',
      issuedAt,
      expiresAt: issuedAt + 600 * SECOND_MS,
      lifetimeSeenMs: 600 * SECOND_MS,
      // The last fifth.
      refreshAt: issuedAt + 480 * SECOND_MS,
      sameTokenAgain: false,
    });
  });

  it('sends the credential until the deadline, and notes what that took', async () => {
    const { sent, trace } = await renew();
    expect(sent).toEqual([['id', 'password', START + 5_000]]);
    expect(trace).toMatchObject({ tokenRequests: 1 });
  });

  it('that is rejected says so, with a warning', async () => {
    const { result, trace } = await renew({ answer: exchange(401, {}) });
    expect(result).toMatchObject({ outcome: 'rejected' });
    expect([...trace.warnings]).toEqual(['rejected']);
  });

  it.each([
    ['held', 'token-response-unusable'],
    ['failed', 'token-endpoint-unavailable'],
  ] as const)('that gets no complete answer is %s with the problem %s', async (outcome, type) => {
    const problem = new Problem(type, 'no answer');
    expect((await renew({ answer: problem })).result).toEqual({ outcome, problem });
  });

  it('lets a defect of the broker through', async () => {
    await expect(renew({ answer: new TypeError('a bug') })).rejects.toThrow('a bug');
  });
});

describe('an environment that is frozen for 20 minutes while it waits', () => {
  const FREEZE_MS = 20 * 60_000;

  async function afterFreeze(status: number, members: unknown) {
    const receivedAt = START + FREEZE_MS;
    return (await renew({ answer: exchange(status, members), requestStartedAt: START, receivedAt })).result;
  }

  it.each([
    ['has expired', { access_token: 'late', expires_in: 600 }],
    ['has expired by what is assumed', { access_token: 'late' }],
    ['is too short to be issued', { access_token: 'late', expires_in: FREEZE_MS / SECOND_MS + 10 }],
  ])('has met a time-out when the token %s', async (_, members) => {
    expect(await afterFreeze(200, members)).toMatchObject({
      outcome: 'failed',
      problem: { type: 'token-endpoint-timeout' },
    });
  });

  it.each([
    [401, 'rejected'],
    [404, 'held'],
    [503, 'failed'],
  ])('believes a %i, which does not age', async (status, outcome) => {
    const result = await afterFreeze(status, {});
    expect(result.outcome).toBe(outcome);
    expect(result).not.toMatchObject({ problem: { type: 'token-endpoint-timeout' } });
  });
});

describe('a token that the service hands out again', () => {
  const life = { expiresAt: START + 100 * SECOND_MS, lifetimeSeenMs: 3_600 * SECOND_MS };
  const record = { token: exampleToken({ fingerprint: 'name of same', ...life }) };

  it('keeps its windows, however little time it has left', async () => {
    const token = await renewal({ record, answer: tokenAnswer('same', 100) });
    expect(token.lifetimeSeenMs).toBe(3_600 * SECOND_MS);
    expect(token.expiresAt - token.refreshAt).toBe(720 * SECOND_MS);
  });

  it('is not worth refusing again once it has been refused in vain', async () => {
    const { trace } = await renew({ record, answer: tokenAnswer('same', 100), forced: true });
    expect([...trace.warnings]).toEqual(['same-token-again']);
    const token = await renewal({ record, answer: tokenAnswer('same', 100), forced: true });
    expect(token.sameTokenAgain).toBe(true);

    const later = await renewal({ record: { ...record, token }, answer: tokenAnswer('same', 90) });
    expect(later.sameTokenAgain).toBe(true);
    const other = await renewal({ record: { token } });
    expect(other).toMatchObject({ sameTokenAgain: false, lifetimeSeenMs: 600 * SECOND_MS });
  });

  it('can still be refused when it was only refreshed', async () => {
    const token = await renewal({ record, answer: tokenAnswer('same', 100) });
    expect(token.sameTokenAgain).toBe(false);
  });

  it('within its hard margin is a problem until it has lapsed', async () => {
    const { result } = await renew({ record, answer: tokenAnswer('same', 30) });
    expect(result).toMatchObject({
      outcome: 'failed',
      problem: {
        type: 'token-endpoint-unavailable',
        detail: expect.stringContaining('ends in 30 s, too soon'),
        retryAfterSeconds: 30,
      },
    });
    expect((await renew({ answer: tokenAnswer('unknown', 30) })).result.outcome).toBe('token');
  });
});
