import { describe, expect, it } from 'vitest';
import type { MemoryStore } from '../../../functions/broker/health/notify.ts';
import { pairKey } from '../../../functions/broker/pair/pair.ts';
import { createHealthWorld, SERVICE } from '../../support/health-world.ts';

describe('a run', () => {
  it('records every answer, and how long it took', async () => {
    const { run, recorded } = createHealthWorld({
      clients: [{ client: 'acme' }],
      answer: (_, count) => (count === 1 ? { failure: 'timeout', afterMs: 700 } : { finding: 'disabled', afterMs: 30 }),
    });
    await run();
    const pair = { client: 'acme', service: SERVICE };
    expect(recorded).toMatchObject([
      { pair, answer: { kind: 'failed', failure: 'timeout' }, milliseconds: 700 },
      { pair, answer: { kind: 'checked', finding: 'disabled' }, milliseconds: 30 },
    ]);
  });

  it('names the services that answered hardly anybody, in each run in which it is so', async () => {
    const { run, world } = createHealthWorld({
      services: ['down', 'up'],
      answer: ({ service }) => (service === 'down' ? 'unreachable' : 'accepted'),
    });
    expect((await run()).incidents).toEqual(['down']);
    expect((await run()).incidents).toEqual(['down']);
    world.answer = () => 'accepted';
    expect((await run()).incidents).toEqual([]);
  });

  it('tells how many clients there are, and which tags name an unknown service', async () => {
    const { run } = createHealthWorld({ clients: [{ client: 'acme', services: 'none-such' }, { client: 'globex' }] });
    const { clients, unknown, checked } = await run();
    expect(clients).toBe(2);
    expect(unknown.map(pairKey)).toEqual(['acme/none-such']);
    expect(checked.map(({ pair }) => pairKey(pair))).toEqual([`globex/${SERVICE}`]);
  });

  it('that is short has three fifths of its time for the checks', async () => {
    const { run } = createHealthWorld({ timeoutMs: 10_000, answer: () => ({ finding: 'accepted', afterMs: 60_000 }) });
    expect((await run()).milliseconds).toBe(6_000);
  });

  it.each([
    ['that is short has one fifth of its time for the last writes', 10_000, 8_000],
    ['that is long has sixteen seconds for the last writes', 720_000, 704_000],
  ])('%s', async (_what, timeoutMs, milliseconds) => {
    const { start, clock, memories } = createHealthWorld({
      clients: [{ client: 'acme' }],
      timeoutMs,
      answer: () => ({ finding: 'rejected', afterMs: 1_000 }),
    });
    const busy: MemoryStore = {
      ...memories.store,
      read: async () => ({ entries: new Map(), revision: 0, heldUntil: clock.now() + 60_000 }),
    };
    expect(await clock.run(start(busy))).toMatchObject({ milliseconds, reported: { failures: ['memory-in-use'] } });
  });
});
