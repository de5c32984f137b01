import { describe, expect, it } from 'vitest';
import { newTrace } from '../../../functions/broker/audit.ts';
import { parseCredential } from '../../../functions/broker/credential/credential.ts';
import { EMPTY_RECORD, type PairRecord, type StoredToken } from '../../../functions/broker/pair/record.ts';
import { Redacted } from '../../../functions/broker/redacted.ts';
import type { Service } from '../../../functions/broker/service.ts';
import { createTokenRenewer } from '../../../functions/broker/token-request/renew-token.ts';
import { SendFailure, type SendFailureKind } from '../../../functions/broker/token-request/send.ts';
import {
  createTokenRequester,
  type RequestToken,
  type TokenExchange,
} from '../../../functions/broker/token-request/token-request.ts';
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
  readonly service?: Partial<Service>;
}

async function renew(changes: Changes = {}) {
  const { answer = tokenAnswer('new', 600) } = changes;
  const sent: unknown[] = [];
  const requestToken: RequestToken = async (_, { clientId, secret }, deadline) => {
    sent.push([clientId.reveal(), secret.reveal(), deadline]);
    if (answer instanceof Error) throw answer;
    return { ...answer, requestStartedAt: START - LATENCY_MS, receivedAt: START };
  };
  const { result, trace } = await renewWith(requestToken, () => START, changes);
  return { result, trace, sent };
}

async function renewWith(requestToken: RequestToken, now: () => number, changes: Omit<Changes, 'answer'> = {}) {
  const service = exampleService(changes.service);
  const { pair } = ISSUE_REQUEST;
  const trace = newTrace();
  const renewToken = createTokenRenewer({
    requestToken,
    fingerprint: (token) => `name of ${token}`,
    random: () => 0.5,
    now,
  });
  const result = await renewToken({
    pair,
    service,
    version: VERSION,
    credential: parseCredential(VERSION.text, pair.service, service.basicEncoding),
    record: { ...EMPTY_RECORD, ...changes.record },
    forced: changes.forced ?? false,
    deadline: START + 5_000,
    trace,
  });
  return { result, trace };
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

  it.each<[SendFailureKind, string, string]>([
    ['too-large', 'held', 'token-response-unusable'],
    ['encoded', 'held', 'token-response-unusable'],
    ['connect', 'failed', 'token-endpoint-unavailable'],
    ['tls', 'failed', 'token-endpoint-unavailable'],
    ['stale-socket', 'failed', 'token-endpoint-unavailable'],
    ['broken', 'failed', 'token-endpoint-unavailable'],
    ['timeout', 'failed', 'token-endpoint-timeout'],
    ['malformed', 'failed', 'token-endpoint-error'],
  ])('that gets no complete answer, "%s", is %s', async (kind, outcome, type) => {
    const { result } = await renewWith(
      requesterOf(() => Promise.reject(new SendFailure(kind, 'CODE'))),
      () => START,
    );
    expect(result).toMatchObject({ outcome, problem: { type } });
  });

  it('lets a defect of the broker through', async () => {
    await expect(renew({ answer: new TypeError('a bug') })).rejects.toThrow('a bug');
  });
});

describe('an environment that is frozen for 20 minutes while it waits', () => {
  const FREEZE_MS = 20 * 60_000;

  /** What came of an answer that is read when the environment goes on. */
  async function afterFreeze(status: number, members: unknown, changes: Omit<Changes, 'answer'> = {}) {
    let now = START;
    const send = async () => {
      now += FREEZE_MS;
      return exchange(status, members).response;
    };
    const { result } = await renewWith(
      requesterOf(send, () => now),
      () => now,
      changes,
    );
    return result;
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

it('assumes the life time that the settings say, also after a refusal', async () => {
  const token = exampleToken({ expirySource: 'assumed', expiresAt: START + 300 * SECOND_MS });
  const changes = { answer: tokenAnswer('new'), record: { token }, forced: true };
  const expiresAt = START - LATENCY_MS + 300 * SECOND_MS;
  expect(await renewal(changes)).toMatchObject({ expirySource: 'assumed', expiresAt });
  const other = await renewal({ ...changes, service: { assumedLifetimeSeconds: 60 } });
  expect(other.expiresAt).toBe(START - LATENCY_MS + 60 * SECOND_MS);
});

function requesterOf(send: Parameters<typeof createTokenRequester>[0]['send'], now = () => START): RequestToken {
  return createTokenRequester({ send, now, sleep: () => Promise.resolve(), random: () => 0 });
}
