import { describe, expect, it } from 'vitest';
import { newTrace } from '../../../functions/broker/audit.ts';
import { EMPTY_RECORD, type PairRecord } from '../../../functions/broker/pair/record.ts';
import type { Publication } from '../../../functions/broker/pair/store.ts';
import { Problem } from '../../../functions/broker/problem.ts';
import { Redacted } from '../../../functions/broker/redacted.ts';
import type { Service } from '../../../functions/broker/service.ts';
import { createTokenRenewer } from '../../../functions/broker/token-request/renew-token.ts';
import type { TokenExchange } from '../../../functions/broker/token-request/token-request.ts';
import { exchange, ISSUE_REQUEST } from '../../support/broker-world.ts';
import { exampleService, START } from '../../support/example.ts';
import { exampleToken } from '../../support/pair-examples.ts';

const SECOND_MS = 1_000;
const LATENCY_MS = 400;

interface Changes {
  readonly answer?: TokenExchange | Problem;
  readonly record?: Partial<PairRecord>;
  readonly forced?: boolean;
  readonly service?: Partial<Service>;
  readonly text?: string;
  readonly now?: number;
}

async function renew(changes: Changes = {}) {
  const { answer = tokenAnswer('new', 600), record, forced = false, service, now = START } = changes;
  const trace = newTrace();
  const sent: unknown[] = [];
  const renewToken = createTokenRenewer({
    requestToken: async (_, { clientId, secret }, deadline) => {
      sent.push([clientId.reveal(), secret.reveal(), deadline]);
      if (answer instanceof Problem) throw answer;
      return { ...answer, requestStartedAt: now - LATENCY_MS, receivedAt: now };
    },
    fingerprint: (token) => `name of ${token}`,
    random: () => 0.5,
    now: () => now,
  });
  const text = new Redacted(changes.text ?? '{"client_id":"id","secret":"password"}');
  const result = await renewToken({
    pair: ISSUE_REQUEST.pair,
    service: exampleService(service),
    version: { versionId: 'v2', stage: 'AWSCURRENT', text },
    record: { ...EMPTY_RECORD, ...record },
    forced,
    deadline: START + 5_000,
    trace,
  }).catch((error: unknown) => {
    if (error instanceof Problem) return error;
    throw error;
  });
  return { result, trace, sent };
}

function tokenAnswer(token: string, seconds?: number): TokenExchange {
  return exchange(200, { access_token: token, expires_in: seconds });
}

/** What there is to publish. */
async function renewal(changes: Changes): Promise<Publication> {
  const { result } = await renew(changes);
  if (result === 'rejected' || result instanceof Problem) throw new Error(`there is nothing: ${result}`);
  return result;
}

describe('a token request', () => {
  it('brings a token whose life counts from the start of the request', async () => {
    const issuedAt = START - LATENCY_MS;
    expect(await renewal({})).toMatchObject({
      token: {
        fingerprint: 'name of new',
        credentialVersion: 'v2',
        issuedAt,
        expiresAt: issuedAt + 600 * SECOND_MS,
        // The last fifth.
        refreshAt: issuedAt + 480 * SECOND_MS,
        refusalIsIdle: false,
      },
      lifetimeSeenMs: 600 * SECOND_MS,
      earlyRefusals: 0,
      assumedLifetimeMs: 0,
    });
  });

  it('sends the credential until the deadline, and notes what that took', async () => {
    const { sent, trace } = await renew();
    expect(sent).toEqual([['id', 'password', START + 5_000]]);
    expect(trace).toMatchObject({ tokenRequests: 1 });
  });

  it('that is rejected says so, with a warning', async () => {
    const { result, trace } = await renew({ answer: exchange(401, {}) });
    expect(result).toBe('rejected');
    expect([...trace.warnings]).toEqual(['rejected']);
  });

  it.each([
    ['fails', new Problem('token-endpoint-timeout', 'too slow'), 'token-endpoint-timeout'],
    ['is answered with 503', exchange(503, {}), 'token-endpoint-unavailable'],
    ['is answered with no token', exchange(200, {}), 'token-response-unusable'],
  ])('that %s throws its problem', async (_, answer, type) => {
    expect((await renew({ answer })).result).toMatchObject({ type });
  });

  it('is not made with a malformed secret', async () => {
    const { result, sent, trace } = await renew({ text: '{"client_id":"id"}' });
    expect(result).toMatchObject({ type: 'credential-malformed' });
    expect([sent.length, trace.tokenRequests]).toEqual([0, 0]);
  });
});

describe('a token that the service hands out again', () => {
  const old = exampleToken({ fingerprint: 'name of same', expiresAt: START + 100 * SECOND_MS });
  const record = { token: old, lifetimeSeenMs: 3_600 * SECOND_MS };

  it('keeps its windows, whatever is left of it', async () => {
    const { token, lifetimeSeenMs } = await renewal({ record, answer: tokenAnswer('same', 100) });
    expect(lifetimeSeenMs).toBe(3_600 * SECOND_MS);
    expect(token.expiresAt - token.refreshAt).toBe(720 * SECOND_MS);
  });

  it('is not worth refusing again once it has been refused in vain', async () => {
    const { trace } = await renew({ record, answer: tokenAnswer('same', 100), forced: true });
    expect([...trace.warnings]).toEqual(['same-token-again']);
    const { token } = await renewal({ record, answer: tokenAnswer('same', 100), forced: true });
    expect(token.refusalIsIdle).toBe(true);

    const later = await renewal({ record: { ...record, token }, answer: tokenAnswer('same', 90) });
    expect(later.token.refusalIsIdle).toBe(true);
    const other = await renewal({ record: { ...record, token } });
    expect(other).toMatchObject({ token: { refusalIsIdle: false }, lifetimeSeenMs: 600 * SECOND_MS });
  });

  it('can still be refused when it was only refreshed', async () => {
    const { token } = await renewal({ record, answer: tokenAnswer('same', 100) });
    expect(token.refusalIsIdle).toBe(false);
  });

  it('within its hard margin is a problem until it has lapsed', async () => {
    const { result } = await renew({ record, answer: tokenAnswer('same', 30) });
    expect(result).toMatchObject({
      type: 'token-endpoint-unavailable',
      detail: expect.stringContaining('ends in 30 s, too soon'),
      retryAfterSeconds: 30,
    });
    expect((await renew({ answer: tokenAnswer('unknown', 30) })).result).toHaveProperty('token');
  });
});

describe('an assumed life time', () => {
  const assumed = (changes = {}) => exampleToken({ expirySource: 'assumed', expiresAt: START + 300_000, ...changes });
  const answer = tokenAnswer('new');
  const EARLY = START + 149_999;

  it('is what the settings say', async () => {
    const { token, assumedLifetimeMs } = await renewal({ answer });
    expect(token).toMatchObject({ expirySource: 'assumed', expiresAt: START - LATENCY_MS + 300_000 });
    expect(assumedLifetimeMs).toBe(0);
  });

  it.each<[string, number, number, Changes]>([
    ['a first early refusal', 1, 300, {}],
    ['a second one', 0, 150, { record: { token: assumed(), earlyRefusals: 1 } }],
    ['a refusal in the second half', 1, 300, { now: EARLY + 1, record: { token: assumed(), earlyRefusals: 1 } }],
    ['a refresh', 1, 300, { forced: false, record: { token: assumed(), earlyRefusals: 1 } }],
    ['a refusal of a token that told its life', 1, 300, { record: { token: exampleToken(), earlyRefusals: 1 } }],
    [
      'a second one of an assumption that was halved',
      0,
      75,
      { record: { token: assumed(), earlyRefusals: 1, assumedLifetimeMs: 150_000 } },
    ],
    [
      'a second one near the least',
      0,
      30,
      { record: { token: assumed(), earlyRefusals: 1, assumedLifetimeMs: 40_000 } },
    ],
    ['a second one at the least', 2, 30, { record: { token: assumed(), earlyRefusals: 1, assumedLifetimeMs: 30_000 } }],
  ])('after %s counts %i and is %i s', async (_, earlyRefusals, seconds, changes) => {
    const now = changes.now ?? EARLY;
    const result = await renewal({ answer, forced: true, record: { token: assumed() }, ...changes, now });
    expect(result.earlyRefusals).toBe(earlyRefusals);
    expect(result.token.expiresAt - result.token.issuedAt).toBe(seconds * SECOND_MS);
    expect(result.assumedLifetimeMs).toBe(seconds === 300 ? 0 : seconds * SECOND_MS);
  });

  it('that is halved is worth a warning', async () => {
    const record = { token: assumed(), earlyRefusals: 1 };
    const { trace } = await renew({ answer, forced: true, record, now: EARLY });
    expect([...trace.warnings]).toEqual(['assumed-lifetime-halved']);
  });

  it('that was halved does not outlive shorter settings', async () => {
    const service = { assumedLifetimeSeconds: 60 };
    const { token, assumedLifetimeMs } = await renewal({ answer, service, record: { assumedLifetimeMs: 150_000 } });
    expect(token.expiresAt - token.issuedAt).toBe(60 * SECOND_MS);
    expect(assumedLifetimeMs).toBe(0);
  });
});
