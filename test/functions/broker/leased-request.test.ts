import { describe, expect, it } from 'vitest';
import type { SecretVersion } from '../../../functions/broker/credential/secret.ts';
import { createLeasedRequest, type LeasePlan } from '../../../functions/broker/pair/leased-request.ts';
import { createPairMemory } from '../../../functions/broker/pair/memory.ts';
import { EMPTY_RECORD, type PairRecord } from '../../../functions/broker/pair/record.ts';
import { Problem } from '../../../functions/broker/problem.ts';
import { Redacted } from '../../../functions/broker/redacted.ts';
import type { RenewToken } from '../../../functions/broker/token-request/renew-token.ts';
import { START } from '../../support/example.ts';
import { exampleCall, examplePublication, exampleToken } from '../../support/pair-examples.ts';
import { createReferencePairStore } from '../../support/reference-pair-store.ts';

const call = exampleCall();
const { pair } = call;
const SEEN: PairRecord = { ...EMPTY_RECORD, fence: 4 };
const FREE = { leaseOwner: undefined, leaseUntil: 0 };
const V1: SecretVersion = { versionId: 'v1', stage: 'AWSCURRENT', text: new Redacted('{}') };
const STOOD_DOWN = { kind: 'stood-down' };
const MINUTE_MS = 60_000;

/** Takes the lease of a record that is as it was seen, and sends version v1; `renew` makes the token request. */
function setUp({ renew = async () => examplePublication(), stored = SEEN, ...changes }: Changes = {}) {
  const clock = { now: START };
  const memory = createPairMemory(() => clock.now);
  const shared = createReferencePairStore();
  shared.change(pair, () => stored);
  const sent: Parameters<RenewToken>[0][] = [];
  const requestUnderLease = createLeasedRequest({
    memory,
    store: shared,
    renewToken: (order) => {
      sent.push(order);
      return renew(order);
    },
    stagedVersions: async () => undefined,
    random: () => 0,
    now: () => clock.now,
  });
  const plan: LeasePlan = {
    store: shared,
    seen: SEEN,
    outwaited: false,
    version: V1,
    forced: false,
    patienceMs: 4_000,
    publishes: true,
    confirm: async () => V1,
    ...changes,
  };
  return {
    clock,
    memory,
    shared,
    sent,
    plan,
    request: (by = call, changed: Partial<LeasePlan> = {}) => requestUnderLease(by, { ...plan, ...changed }),
    recordNow: () => shared.peek(pair).latest,
  };
}

type Changes = Partial<LeasePlan> & {
  readonly renew?: RenewToken;
  /** What the store holds by now. */
  readonly stored?: PairRecord;
};

describe('a call with little time left', () => {
  it('takes no lease: nobody would wait for its request', async () => {
    const { request, recordNow } = setUp();

    expect(await request(exampleCall({ deadline: START + 249 }))).toEqual(STOOD_DOWN);
    expect(recordNow()).toBe(SEEN);
  });

  it('makes its request with a quarter of a second', async () => {
    const { request, sent } = setUp();

    expect(await request(exampleCall({ deadline: START + 250 }))).toMatchObject({ kind: 'token' });
    expect(sent).toMatchObject([{ deadline: START + 250 }]);
  });

  it('gives the lease back when looking once more took that time', async () => {
    const { clock, request, sent, recordNow } = setUp({
      confirm: async () => {
        clock.now += 1;
        return V1;
      },
    });

    expect(await request(exampleCall({ deadline: START + 250 }))).toEqual(STOOD_DOWN);
    expect(sent).toEqual([]);
    expect(recordNow()).toMatchObject({ fence: 5, ...FREE });
  });
});

describe('the token request', () => {
  it.each([
    ['its caller’s patience', { patienceMs: 1_000 }, call, 1_000],
    ['its call', { patienceMs: 4_000 }, exampleCall({ deadline: START + 3_999 }), 3_999],
    ['its lease, with 650 ms to publish', { patienceMs: 60_000 }, call, 6_000 - 650],
  ])('ends with %s', async (_, plan, by, endMs) => {
    const { request, sent } = setUp(plan);
    await request(by);

    expect(sent).toMatchObject([{ pair, version: V1, forced: false, deadline: START + endMs, trace: by.trace }]);
  });

  it('knows the record under its lease, and whether it replaces a refused token', async () => {
    const { request, sent } = setUp({ forced: true });
    await request();

    expect(sent).toMatchObject([{ forced: true, record: { fence: 5, leaseOwner: 'me', forcedAt: START } }]);
  });

  it('is known to the other calls of this environment while it is under way', async () => {
    const known: (PairRecord | undefined)[] = [];
    const { request, memory } = setUp({
      renew: async () => {
        known.push(memory.recall(pair));
        return examplePublication();
      },
    });
    await request();

    expect(known).toMatchObject([{ fence: 5, attemptedAt: START }]);
  });

  it('that brings a token publishes it', async () => {
    const { request, recordNow } = setUp();
    const outcome = await request();

    expect(outcome).toMatchObject({ kind: 'token', token: { fingerprint: exampleToken().fingerprint } });
    expect(recordNow()).toMatchObject({ fence: 5, ...FREE, token: exampleToken() });
  });

  it('that is rejected latches the version', async () => {
    const { request, recordNow } = setUp({ renew: async () => 'rejected' });

    expect(await request()).toEqual({ kind: 'rejected' });
    expect(recordNow()).toMatchObject({ fence: 5, ...FREE });
    expect(recordNow().rejected.get('v1')).toMatchObject({ count: 1, fence: 5 });
  });

  it('that fails has everybody pause, and its caller told how long', async () => {
    const cause = new Error('ECONNREFUSED');
    const { request, recordNow } = setUp({
      renew: async () => {
        throw new Problem('token-endpoint-unavailable', 'down', { cause });
      },
    });

    await expect(request()).rejects.toMatchObject({ type: 'token-endpoint-unavailable', retryAfterSeconds: 1, cause });
    expect(recordNow()).toMatchObject({ ...FREE, pause: { until: START + 1_000, step: 1 } });
  });

  it('that meets a bug has nobody pause, and keeps no lease', async () => {
    const bug = new TypeError('a bug');
    const { request, recordNow } = setUp({ renew: () => Promise.reject(bug) });

    await expect(request()).rejects.toBe(bug);
    expect(recordNow()).toMatchObject({ fence: 5, ...FREE, pause: undefined });
  });
});

describe('nothing is sent', () => {
  it('when somebody else was faster', async () => {
    const stored = { ...SEEN, fence: 5, leaseOwner: 'another', leaseUntil: START + 6_000 };
    const { request, sent, recordNow } = setUp({ stored });

    expect(await request()).toEqual(STOOD_DOWN);
    expect(sent).toEqual([]);
    expect(recordNow()).toBe(stored);
  });

  it('when the record under the lease decides otherwise', async () => {
    const { request, sent, recordNow } = setUp({ confirm: async () => undefined });

    expect(await request()).toEqual(STOOD_DOWN);
    expect(sent).toEqual([]);
    expect(recordNow()).toMatchObject({ fence: 5, ...FREE });
  });

  it('when looking once more fails: the lease is given back', async () => {
    const problem = new Problem('secrets-unavailable', 'down');
    const { request, sent, recordNow } = setUp({ confirm: () => Promise.reject(problem) });

    await expect(request()).rejects.toBe(problem);
    expect(sent).toEqual([]);
    expect(recordNow()).toMatchObject({ fence: 5, ...FREE });
  });
});

describe('a version that was rejected before', () => {
  const latch = { count: 1, at: START - 16 * MINUTE_MS, fence: 3 };
  const rejected = new Map([['v1', latch]]);

  it('is sent under the lease that used up its next chance', async () => {
    const record = { ...SEEN, rejected };
    const { request, sent } = setUp({ seen: record, stored: record });
    await request();

    expect(sent).toHaveLength(1);
    expect(sent[0]?.record.rejected.get('v1')).toEqual({ count: 2, at: START, fence: 5 });
  });

  it('is not sent when the lease was taken before anybody knew: its chance is not used up', async () => {
    const { request, sent, recordNow } = setUp({ stored: { ...SEEN, rejected } });

    expect(await request()).toEqual(STOOD_DOWN);
    expect(sent).toEqual([]);
    expect(recordNow()).toMatchObject({ ...FREE, rejected });
  });

  it('is not sent in place of another', async () => {
    const record = { ...SEEN, rejected };
    const confirm = async () => V1;
    const { request, sent } = setUp({ seen: record, stored: record, version: { ...V1, versionId: 'v2' }, confirm });

    expect(await request()).toEqual(STOOD_DOWN);
    expect(sent).toEqual([]);
  });
});

describe('a token that this environment cannot open', () => {
  const own = { ...SEEN, token: exampleToken() };

  it.each([
    ['without the sealing key', { isLocked: true }],
    ['of code that it does not know', { foreignUntil: START + 1 }],
  ])('%s, met under the lease, is not replaced, and its own is not forgotten', async (_, closed) => {
    const { request, memory, sent, recordNow } = setUp({ stored: { ...SEEN, ...closed } });
    memory.remember(pair, own);

    expect(await request()).toEqual(STOOD_DOWN);
    expect(sent).toEqual([]);
    expect(recordNow()).toMatchObject({ fence: 5, ...FREE });
    expect(memory.recall(pair)).toBe(own);
  });

  it('is replaced when its time is over', async () => {
    const { request, recordNow } = setUp({ stored: { ...SEEN, foreignUntil: START } });

    expect(await request()).toMatchObject({ kind: 'token' });
    expect(recordNow()).toMatchObject({ foreignUntil: 0, token: exampleToken() });
  });
});

it('proves a version whose token is for nobody, and publishes nothing', async () => {
  const latch = { count: 1, at: START - 16 * MINUTE_MS, fence: 3 };
  const record = { ...SEEN, rejected: new Map([['v1', latch]]) };
  const { request, recordNow } = setUp({ seen: record, stored: record, publishes: false });

  expect(await request()).toMatchObject({ kind: 'token' });
  expect(recordNow()).toMatchObject({ fence: 5, ...FREE, token: undefined, rejected: new Map() });
});

it('looks once more at the record as it was before its own lease', async () => {
  const seen: PairRecord[] = [];
  const confirm = async (record: PairRecord) => {
    seen.push(record);
    return V1;
  };
  const stored = { ...SEEN, leaseOwner: 'dead', leaseUntil: START };
  const { request } = setUp({ stored, confirm });
  await request();

  expect(seen).toMatchObject([{ fence: 4, attemptedAt: 0, leaseUntil: 0 }]);
});
