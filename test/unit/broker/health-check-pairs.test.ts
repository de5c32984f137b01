import { describe, expect, it } from 'vitest';
import { pairKey } from '../../../functions/broker/pair/pair.ts';
import { clientsNamed, createHealthWorld } from '../../support/health-world.ts';

const MINUTE = 60_000;

describe('the pace of a run', () => {
  it.each([10, 1_000, 2_900])(
    'gets through a thousand pairs within ten minutes when a check takes %i ms',
    async (afterMs) => {
      const health = createHealthWorld({
        clients: clientsNamed(1_000),
        answer: () => ({ finding: 'accepted', afterMs }),
      });
      const { checked, missed, milliseconds } = await health.run();
      expect(checked).toHaveLength(1_000);
      expect(missed).toEqual([]);
      expect(milliseconds).toBeLessThan(10 * MINUTE);
    },
  );

  it('spreads the checks evenly over eight minutes', async () => {
    const { run, checks } = createHealthWorld({ clients: clientsNamed(1_000) });
    await run();
    const begin = checks[0]?.at ?? 0;
    const perMinute = [0, 1, 2, 3, 4, 5, 6, 7].map(
      (minute) => checks.filter(({ at }) => Math.floor((at - begin) / MINUTE) === minute).length,
    );
    for (const count of perMinute) expect(count).toBeGreaterThanOrEqual(120);
    for (const count of perMinute) expect(count).toBeLessThanOrEqual(130);
  });

  it('never has more than five checks under way', async () => {
    const { run, checks } = createHealthWorld({
      clients: clientsNamed(200),
      answer: () => ({ finding: 'accepted', afterMs: 15_000 }),
    });
    await run();
    expect(Math.max(...checks.map(({ atOnce }) => atOnce))).toBe(5);
  });

  it('catches up evenly after a standstill, not in a burst', async () => {
    const { run, checks } = createHealthWorld({
      clients: clientsNamed(1_000),
      answer: (_, count) => ({ finding: 'accepted', afterMs: count <= 5 ? 19_000 : 10 }),
    });
    await run();
    const gaps = checks.slice(6).map(({ at }, index) => at - (checks[index + 5]?.at ?? 0));
    expect(Math.min(...gaps)).toBeGreaterThan(400);
  });

  it('does not spread out a few pairs', async () => {
    const { milliseconds } = await createHealthWorld({ clients: clientsNamed(4) }).run();
    expect(milliseconds).toBeLessThan(5_000);
  });

  it('ends well before the next run begins', async () => {
    const health = createHealthWorld({ clients: clientsNamed(1_000), intervalMs: 4 * MINUTE });
    const { milliseconds } = await health.run();
    expect(milliseconds).toBeLessThan(3.5 * MINUTE);
  });

  it('takes the pairs in another order each time', async () => {
    const { run, checks } = createHealthWorld();
    await run();
    await run();
    const keys = checks.map(({ pair }) => pairKey(pair));
    expect(keys.slice(0, 10)).not.toEqual(keys.slice(10));
    expect(keys.slice(0, 10).toSorted()).toEqual(keys.slice(10).toSorted());
  });
});

describe('a run whose time is up', () => {
  it('ends before its deadline and names what it did not reach', async () => {
    const health = createHealthWorld({
      clients: clientsNamed(1_000),
      timeoutMs: 3 * MINUTE,
      answer: () => ({ finding: 'accepted', afterMs: 4_000 }),
    });
    const { checked, missed, milliseconds } = await health.run();
    expect(milliseconds).toBeLessThan(3 * MINUTE - 10_000);
    expect(checked.length).toBeGreaterThan(150);
    expect(checked.length + missed.length).toBe(1_000);
    expect(new Set(missed.map(({ reason }) => reason))).toEqual(new Set(['out-of-time']));
    expect(new Set([...checked, ...missed].map(({ pair }) => pairKey(pair))).size).toBe(1_000);
  });

  it('waits for no check beyond it', async () => {
    const health = createHealthWorld({
      timeoutMs: MINUTE,
      clients: clientsNamed(100),
      answer: (_, count) => ({ finding: 'accepted', afterMs: count >= 80 ? 3_600_000 : 100 }),
    });
    const { checked, missed, milliseconds } = await health.run();
    expect(milliseconds).toBeLessThan(40_000);
    expect(checked).toHaveLength(79);
    expect(new Set(missed.map(({ reason }) => reason))).toEqual(new Set(['out-of-time']));
  });

  it('does not blame the broker for a check that it cut short', async () => {
    const health = createHealthWorld({
      timeoutMs: MINUTE,
      clients: clientsNamed(1),
      answer: () => ({ finding: 'accepted', afterMs: 3_600_000 }),
    });
    const { missed, subjects } = await health.run();
    expect(health.checks).toHaveLength(2);
    expect({ missed, subjects }).toMatchObject({ missed: [{ reason: 'out-of-time' }], subjects: [] });
  });

  it('checks nothing when there is no time at all', async () => {
    const health = createHealthWorld({ timeoutMs: 0 });
    expect(await health.run()).toMatchObject({ checked: [], missed: { length: 10 }, milliseconds: 0 });
    expect(health.checks).toEqual([]);
  });
});

describe('a service that does not answer', () => {
  it('is only sampled after ten in a row', async () => {
    const health = createHealthWorld({
      services: ['down', 'up'],
      clients: clientsNamed(500),
      answer: ({ service }) => (service === 'down' ? { finding: 'unreachable', afterMs: 8_000 } : 'accepted'),
    });
    const { checked, missed, milliseconds } = await health.run();
    const asked = checked.filter(({ pair }) => pair.service === 'down');
    // Ten and those under way with them, then one of ten.
    expect(asked.length).toBeGreaterThanOrEqual(59);
    expect(asked.length).toBeLessThanOrEqual(64);
    expect(missed).toHaveLength(500 - asked.length);
    expect(new Set(missed.map(({ reason }) => reason))).toEqual(new Set(['sampled']));
    expect(checked.filter(({ pair }) => pair.service === 'up')).toHaveLength(500);
    expect(milliseconds).toBeLessThan(10 * MINUTE);
  });

  it('is checked completely when it answers again in the middle of a run', async () => {
    const health = createHealthWorld({
      clients: clientsNamed(300),
      answer: (_, count) => (count <= 20 ? 'unreachable' : 'accepted'),
    });
    const { checked, missed } = await health.run();
    expect(missed).toEqual([]);
    expect(checked).toHaveLength(300);
  });

  it('is not taken for answering because callers got tokens of it earlier, or because secrets are missing', async () => {
    const health = createHealthWorld({
      clients: clientsNamed(300),
      answer: (_, count) =>
        (
          [
            'unreachable',
            { finding: 'accepted', provenBy: 'traffic' },
            { finding: 'secret-missing', provenBy: 'secret' },
          ] as const
        )[count % 3] ?? 'accepted',
    });
    const { missed } = await health.run();
    expect(missed.length).toBeGreaterThan(200);
  });
});

describe('a broker that does not answer', () => {
  it('is asked about a pair once more', async () => {
    const health = createHealthWorld({
      answer: (_, count) => (count <= 3 ? { failure: 'aws-throttled' } : 'accepted'),
    });
    const { checked, missed } = await health.run();
    expect(checked).toHaveLength(10);
    expect(missed).toEqual([]);
    expect(health.recorded).toHaveLength(13);
  });

  it('is asked no third time', async () => {
    const health = createHealthWorld({
      answer: ({ client }) => (client === 'client-3' ? { failure: 'secrets-unavailable' } : 'accepted'),
    });
    const { missed } = await health.run();
    expect(missed).toMatchObject([{ pair: { client: 'client-3' }, reason: 'failed', failure: 'secrets-unavailable' }]);
    expect(health.checks).toHaveLength(11);
  });

  it.each([100, 20_000])('is only sampled after ten in a row, when each takes %i ms', async (afterMs) => {
    const health = createHealthWorld({
      clients: clientsNamed(1_000),
      answer: () => ({ failure: 'timeout', afterMs }),
    });
    const { missed, milliseconds } = await health.run();
    expect(missed).toHaveLength(1_000);
    expect(health.checks.length).toBeLessThan(250);
    expect(milliseconds).toBeLessThan(12 * MINUTE);
  });
});
