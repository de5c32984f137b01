import { describe, expect, it } from 'vitest';
import { decideIssue } from '../../../../functions/broker/pair/decision.ts';
import { EMPTY_RECORD } from '../../../../functions/broker/pair/record.ts';
import { found, ISSUE_REQUEST, SECRETS_DOWN } from '../../../support/broker-world.ts';
import { exampleService, HOUR_MS, MINUTE_MS, SECOND_MS, START } from '../../../support/example.ts';
import { closedToken, exampleCall, exampleToken, latches } from '../../../support/pair/pair-examples.ts';
import {
  answer,
  createPairWorld,
  DOWN,
  FAILED,
  FINGERPRINT,
  LEASE_MS,
  LIVE,
  PAIR,
  type PairWorldOptions,
  REJECTED,
  RENEW,
  REQUEST,
  SILENT,
} from './pair-world.ts';

/** A world in which callers ask, one after the other, and are answered by the rules for callers. */
function createCallers(options: PairWorldOptions = {}, service = exampleService()) {
  const world = createPairWorld(options);
  const { clock, acquire } = world;
  /** The fingerprint of the token, or the type of the problem. */
  async function ask(changes: Partial<typeof ISSUE_REQUEST> = {}): Promise<unknown> {
    const call = exampleCall({ service, deadline: clock.now + 10_000 });
    const given = await acquire((view) => {
      const step = decideIssue(view, call, { ...ISSUE_REQUEST, ...changes }, clock.now);
      return 'answer' in step ? { ...step, answer: step.answer.token.fingerprint } : step;
    }, call);
    return typeof given === 'object' && given !== null && 'type' in given ? given.type : given;
  }
  return { ...world, ask };
}

describe('a store that is out of reach', () => {
  it('leaves the instance to what it knows, in spite of any lease that it saw before, and tells the operator', async () => {
    const call = exampleCall();
    const { acquire, memory, views, slept } = createPairWorld({ reads: [DOWN] });
    await memory.remember(PAIR, async () => ({ record: { ...EMPTY_RECORD, ...LIVE, forcedAt: START - 1 }, tag: 'a' }));

    expect(await acquire([answer('known')], call)).toBe('known');
    const listing = { outcome: 'found', secret: { versionId: 'v1' } };
    const versions = { name: 'token-broker/test/acme', stage: 'AWSCURRENT', listing };
    expect(views).toMatchObject([{ isAlone: true, leaseIsOver: true, record: { forcedAt: START - 1 }, versions }]);
    expect([slept, [...call.trace.warnings]]).toEqual([[], ['shared-cache-unavailable']]);
  });

  it('for two writes of a lease leaves the instance alone for the rest of the call', async () => {
    const { acquire, views, slept, tableReads } = createPairWorld({ store: { replace: SILENT } });

    expect(await acquire([REQUEST])).toBe(FINGERPRINT);
    expect(views.map(({ isAlone }) => isAlone)).toEqual([false, false, true]);
    expect([tableReads.length, slept]).toEqual([2, []]);
  });

  it('is told of a rejection as soon as it answers, under whatever lease', async () => {
    const { acquire, recordNow } = createPairWorld({ reads: [DOWN, DOWN, LIVE], renewals: [REJECTED] });
    await acquire([REQUEST, REQUEST, answer('enough')]);

    expect(recordNow()).toMatchObject({ ...LIVE, rejected: new Map([['v1', { count: 1, at: START, by: 'lease-1' }]]) });
  });

  it.each(['read', 'replace'])('differs from a bug of the store, which is not hidden: %s', async (operation) => {
    const bug = new TypeError('not the requested item');
    const call = exampleCall();
    const { acquire } = createPairWorld({ store: { [operation]: () => Promise.reject(bug) } });

    expect(await acquire([RENEW], call)).toBe(bug);
    expect(call.trace.warnings.size).toBe(0);
  });
});

describe('an instance that is alone', () => {
  const alone = { reads: [DOWN] } as const;

  it('sends a version three times in a day, as with the table', async () => {
    const { ask, clock, sent } = createCallers({ ...alone, renewals: [REJECTED] });
    for (let n = 0; n < 24 * 12; n += 1) {
      expect(await ask()).toBe('credential-rejected');
      clock.now += 5 * MINUTE_MS;
    }
    expect(sent).toHaveLength(3);
  });

  it('forgets no latch of 1 001 pairs', async () => {
    const { acquire, sent } = createPairWorld({ ...alone, renewals: [REJECTED] });
    const calls = Array.from({ length: 1_001 }, (_, n) => exampleCall({ pair: { ...PAIR, client: `client-${n}` } }));
    for (const call of [...calls, ...calls]) {
      expect(await acquire([REQUEST], call)).toMatchObject({ type: 'credential-rejected' });
    }
    expect(sent).toHaveLength(1_001);
  });

  it('renews once in 15 s when the service hands out the very same token, however short its rest', async () => {
    const token = exampleToken({ refreshAt: START });
    const { ask, clock, sent } = createCallers({ ...alone, renewals: [{ outcome: 'token', token }] });
    for (let n = 0; n < 60; n += 1) {
      expect(await ask()).toBe(token.fingerprint);
      clock.now += SECOND_MS;
    }
    expect(sent).toHaveLength(60 / 15);
  });
});

it('the token of an instance that was alone does not come back after the table has taken and lost another', async () => {
  const { ask, clock, sent, shared } = createCallers({ reads: [DOWN, DOWN, {}] });
  expect(await ask()).toBe(FINGERPRINT);
  clock.now += MINUTE_MS;
  expect(await ask({ refused: FINGERPRINT })).toBe(FINGERPRINT);
  shared.change(PAIR, (record) => ({ ...record, token: undefined }));
  clock.now += MINUTE_MS;
  await ask();
  expect(sent).toHaveLength(3);
});

it('an instance that is alone says when the secret may have changed meanwhile', async () => {
  const [first, later] = [exampleCall(), exampleCall({ deadline: START + 2 * MINUTE_MS })];
  const secret: PairWorldOptions['secret'] = (stage, n) => (n === 1 ? found('v1', undefined, stage) : SECRETS_DOWN);
  const { acquire, clock } = createPairWorld({ reads: [DOWN], secret });
  await acquire([answer('known')], first);
  clock.now += MINUTE_MS + 1;
  await acquire([answer('known')], later);
  expect([first, later].map(({ trace }) => trace.warnings.has('secret-stale'))).toEqual([false, true]);
});

describe('a table that can be read and takes no writes', () => {
  it.each<[string, PairWorldOptions['renewals'], string, Partial<typeof ISSUE_REQUEST>]>([
    ['a token', undefined, FINGERPRINT, {}],
    ['a token that is refused again', undefined, 'refused-again', { refused: FINGERPRINT }],
    ['a failure', [FAILED], 'token-endpoint-unavailable', {}],
    ['a rejection', [REJECTED], 'credential-rejected', {}],
  ])('costs one token request in all, not one per call, when that brings %s', async (_, renewals, told, request) => {
    const { ask, sent } = createCallers({ ...(renewals && { renewals }), store: { replace: SILENT } });
    const forced = request.refused === undefined ? 0 : 1;
    await ask();
    if (forced) await ask(request);
    for (let n = 0; n < 10; n += 1) expect(await ask(request)).toBe(told);

    expect(sent).toHaveLength(1 + forced);
  });

  it('leaves the instance the token that it requested, while the secret was there a minute ago', async () => {
    let isGone = false;
    const { ask, clock } = createCallers({
      store: { replace: SILENT },
      secret: (stage) => (isGone ? { outcome: 'missing' } : found('v1', undefined, stage)),
    });
    await ask();
    isGone = true;
    clock.now += MINUTE_MS;
    expect(await ask()).toBe(FINGERPRINT);
    clock.now += 1;
    expect(await ask()).toBe('credential-missing');
  });

  it('costs a renewal one write and one read of the secret in 15 s, not one per call', async () => {
    let writes = 0;
    const { ask, clock, readStages } = createCallers({
      record: { token: exampleToken({ refreshAt: START }) },
      store: { replace: () => SILENT().finally(() => (writes += 1)) },
    });
    for (let n = 0; n < 60; n += 1) {
      expect(await ask()).toBe(FINGERPRINT);
      clock.now += SECOND_MS;
    }
    expect([writes, readStages.length]).toEqual([60 / 15, 60 / 15]);
  });
});

describe('a token that this instance cannot open', () => {
  const unused = { attemptedAt: START - MINUTE_MS, token: closedToken('unreadable', { issuedAt: START - HOUR_MS }) };
  const noKey = { ...unused, token: closedToken('no-key', { issuedAt: START - HOUR_MS }) };

  it('is never replaced while it may be in use: the instance requests one for itself, and keeps it', async () => {
    const { ask, recordNow, clock, sent, readStages } = createCallers({ record: noKey });

    expect(await ask()).toBe(FINGERPRINT);
    clock.now += 1;
    expect(await ask()).toBe(FINGERPRINT);
    expect([sent.length, readStages.length]).toEqual([1, 1]);
    expect(recordNow()).toEqual({ ...EMPTY_RECORD, ...noKey });
  });

  it('is replaced under a lease when it was not used for a minute', async () => {
    const { ask, recordNow } = createCallers({ record: unused });

    expect(await ask()).toBe(FINGERPRINT);
    expect(recordNow()).toMatchObject({ lease: undefined, attemptedAt: START, token: exampleToken() });
  });

  it('has another version sent under a lease of the table only, and that makes it proven', async () => {
    const token = { ...noKey.token, credentialVersion: 'v0' };
    const { ask, recordNow, clock, sent } = createCallers({ record: { ...noKey, token, ...LIVE } });

    expect(await ask()).toBe(FINGERPRINT);
    expect(clock.now).toBeGreaterThanOrEqual(START + LEASE_MS);
    const checked = { version: 'v1', at: clock.now, finding: 'accepted' };
    expect(recordNow()).toMatchObject({ lease: undefined, token, checked });
    expect(await ask()).toBe(FINGERPRINT);
    expect(sent).toHaveLength(1);
  });

  it('has a version that is proven sent without a lease, although another call holds one', async () => {
    const { acquire, clock, sent } = createPairWorld({ record: { ...noKey, ...LIVE } });

    expect(await acquire([REQUEST])).toBe(FINGERPRINT);
    expect([clock.now, sent.length]).toEqual([START, 1]);
  });

  it('does not keep latches, holds, pauses and the operator’s stop of its record from counting', async () => {
    const disabled = { since: START };
    expect(await createCallers({ record: { ...noKey, disabled } }).ask()).toBe('client-disabled');
    const latched = { ...noKey, rejected: latches({ v1: START }) };
    expect(await createCallers({ record: latched }).ask()).toBe('credential-rejected');
  });
});
