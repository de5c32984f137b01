import { describe, expect, it } from 'vitest';
import { Problem } from '../../functions/broker/problem.ts';
import { ISSUE_REQUEST } from '../support/broker-world.ts';
import { ask, fleetOf } from '../support/fleet-asks.ts';

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const { pair } = ISSUE_REQUEST;

/** Many services take their time to say no, so that a guess takes long. */
const SLOW_REJECTION_MS = 1_500;

describe('a service that is slow', () => {
  it.each([1_200, 2_500])('but answers after %i ms costs no caller its token', async (serviceLatencyMs) => {
    const { clock, askAll } = fleetOf(5, { serviceLatencyMs });
    for (let second = 0; second < 3 * 3_600; second += 5) {
      for (const { problem } of await askAll()) expect(problem).toBeUndefined();
      await clock.advance(5 * SECOND_MS);
    }
  });

  it('to reject a new version is sent it three times and no more while the old token lives', async () => {
    const { clock, requests, surroundings, askAll } = fleetOf(5, { lifetimeSeconds: 24 * 3_600 });
    await askAll();
    Object.assign(surroundings, { stages: { AWSCURRENT: 'v2', AWSPREVIOUS: 'v1' }, accepted: new Set(['v1']) });
    surroundings.serviceLatencyMs = SLOW_REJECTION_MS;
    for (let minute = 0; minute < 18 * 60; minute += 1) {
      for (const { issue } of await askAll()) expect(issue).toBeDefined();
      await clock.advance(MINUTE_MS);
    }
    expect(requests.filter(({ version }) => version === 'v2').length).toBeLessThanOrEqual(3);
  });

  it('to reject a version that worked until now is sent it three times and once more in the whole soft window', async () => {
    const { clock, requests, surroundings, askAll } = fleetOf(5, { lifetimeSeconds: 24 * 3_600 });
    await askAll();
    Object.assign(surroundings, { accepted: new Set(), serviceLatencyMs: SLOW_REJECTION_MS });
    requests.length = 0;
    for (let minute = 0; minute < 26 * 60; minute += 1) {
      await askAll();
      await clock.advance(MINUTE_MS);
    }
    expect(requests.length).toBeLessThanOrEqual(3 + 1);
  });
});

describe('a record that holds a token which no environment here can open', () => {
  const closed = (seconds: number) => ({ closedUntil: Date.UTC(2026, 0, 1) + seconds * SECOND_MS });

  it('still stops a disabled client', async () => {
    const { shared, requests, askAll } = fleetOf(3);
    shared.change(pair, (record) => ({ ...record, ...closed(3_600), disabled: true }));
    for (const { problem } of await askAll()) expect(problem?.type).toBe('client-disabled');
    expect(requests).toHaveLength(0);
  });

  it('still stops a disabled client that was served before, within 60 s', async () => {
    const { clock, shared, askAll } = fleetOf(3);
    shared.change(pair, (record) => ({ ...record, ...closed(7_200) }));
    await askAll();
    shared.change(pair, (record) => ({ ...record, disabled: true }));
    await clock.advance(MINUTE_MS);
    for (const { problem } of await askAll()) expect(problem?.type).toBe('client-disabled');
  });

  it('still keeps a latched version from being sent, and a pause', async () => {
    const { clock, shared, requests, askAll } = fleetOf(3);
    shared.change(pair, (record) => ({
      ...record,
      ...closed(3_600),
      rejected: new Map([['v1', { count: 1, at: clock.now(), fence: 1 }]]),
    }));
    for (const { problem } of await askAll()) expect(problem?.type).toBe('credential-rejected');

    const problem = { type: 'token-endpoint-unavailable', detail: 'down' } as const;
    const pause = { until: clock.now() + MINUTE_MS, step: 1, problem };
    shared.change(pair, (record) => ({ ...record, rejected: new Map(), pause }));
    await clock.advance(30 * SECOND_MS);
    for (const { problem } of await askAll()) expect(problem).toBeDefined();
    expect(requests).toHaveLength(0);
  });

  it('does not have each environment find out for itself that a version is wrong', async () => {
    const { shared, requests, askAll } = fleetOf(20, { accepted: new Set() });
    shared.change(pair, (record) => ({ ...record, ...closed(3_600) }));
    for (let n = 0; n < 3; n += 1) await askAll();
    // All ask at the same moment, the worst case; an environment that comes later knows.
    const late = fleetOf(20, { accepted: new Set() });
    late.shared.change(pair, (record) => ({ ...record, ...closed(3_600) }));
    for (const environment of late.environments) await late.clock.run(ask(environment));
    expect(late.requests).toHaveLength(1);
    expect(requests.length).toBeLessThanOrEqual(20);
  });
});

describe('a version that was rejected', () => {
  it.each(['AWSPENDING', 'AWSPREVIOUS'] as const)(
    'and then works in a check of %s is not latched any more',
    async (stage) => {
      const { clock, requests, surroundings, environments, recordNow } = fleetOf(1, {
        stages: { AWSCURRENT: 'v1', [stage]: 'v2' },
        accepted: new Set(['v1']),
      });
      const check = () => clock.run(environments[0]?.check({ stage }) ?? Promise.reject());
      expect(await check()).toMatchObject({ finding: 'rejected', provenBy: 'request' });
      surroundings.accepted = new Set(['v1', 'v2']);
      await clock.advance(16 * MINUTE_MS);
      expect(await check()).toMatchObject({ finding: 'accepted', provenBy: 'request' });
      expect(recordNow().rejected.size).toBe(0);

      await clock.advance(31 * SECOND_MS);
      expect(await check()).toMatchObject({ finding: 'accepted' });
      expect(requests.map(({ outcome }) => outcome)).toEqual(['rejected', 'token', 'token']);
    },
  );
});

describe('an answer that is lost while a lease is taken', () => {
  const rejected = new Map([['v1', { count: 1, at: Date.UTC(2026, 0, 1), fence: 1 }]]);

  it.each([
    ['an operator’s stop', { disabled: true }, 'client-disabled'],
    ['a late rejection', { rejected }, 'credential-rejected'],
  ])('does not hide %s that was written meanwhile', async (_, written, type) => {
    const { shared, requests, createEnvironment, clock } = fleetOf(0);
    const { acquire } = shared;
    shared.acquire = async (which, acquisition, deadline) => {
      await acquire(which, acquisition, deadline);
      shared.change(which, (record) => ({ ...record, ...written }));
      return acquire(which, acquisition, deadline);
    };
    const { problem } = await clock.run(ask(createEnvironment()));

    expect(problem?.type).toBe(type);
    expect(requests).toHaveLength(0);
  });
});

describe('a store that takes no lease', () => {
  it('has every caller answered in time, and is not asked without end', async () => {
    const { shared, counts, createEnvironment, clock } = fleetOf(0);
    shared.acquire = async () => undefined;
    const { problem, waitMs } = await clock.run(ask(createEnvironment()));

    expect(problem?.type).toBe('token-endpoint-timeout');
    expect(waitMs).toBeLessThanOrEqual(14_500);
    expect(counts.storeCalls.acquire).toBeLessThan(100);
  });
});

describe('clocks that differ', () => {
  it.each([-10, 10])(
    'by %i minutes and two seconds send a wrong credential no more than three times',
    async (minutes) => {
      const { clock, requests, createEnvironment } = fleetOf(0, { accepted: new Set(), serviceLatencyMs: 3_900 });
      const skewsMs = [0, -2_000, 2_000, minutes * MINUTE_MS];
      const environments = skewsMs.map((skewMs) => createEnvironment({ skewMs }));
      for (let n = 0; n < 5; n += 1) {
        const answers = environments.map(async (environment, index) => {
          await clock.sleep(index * 100);
          return ask(environment);
        });
        for (const { problem } of await clock.run(Promise.all(answers))) expect(problem).toBeInstanceOf(Problem);
        await clock.advance(3 * HOUR_MS);
      }
      expect(requests.length).toBeLessThanOrEqual(3);
    },
  );
});
