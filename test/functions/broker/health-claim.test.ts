import { describe, expect, it } from 'vitest';
import type { CheckedPair } from '../../../functions/broker/health/check-pairs.ts';
import { judgePairs } from '../../../functions/broker/health/evaluate.ts';
import type { MemoryStore } from '../../../functions/broker/health/notify.ts';
import { clientsNamed, createHealthWorld, SERVICE } from '../../support/health-world.ts';

const CLAIM_MS = 60_000;
/** Five messages go out at once, and take this long together. */
const BATCH_MS = 20;

describe('the claim on a memory', () => {
  it('begins anew with every batch of messages, and ends with the last', async () => {
    const { report, begin, memories } = createReports();
    expect(await report(rejected(12))).toEqual({ sent: 12, unsent: 0, failures: [] });
    const ends = memories.writes.map(({ heldUntil }) => heldUntil);
    expect(ends).toEqual([begin + CLAIM_MS, begin + CLAIM_MS + BATCH_MS, begin + CLAIM_MS + 2 * BATCH_MS, 0]);
  });

  it('ends at the moment that it names', async () => {
    const { report, begin, clock, hold } = createReports();
    hold(begin);
    expect(await report(rejected(1))).toMatchObject({ sent: 1 });
    expect(clock.now()).toBe(begin + BATCH_MS);
  });

  it.each([
    ['keeps others waiting', 2 * CLAIM_MS, { sent: 0, unsent: 1, failures: ['memory-in-use'] }],
    ['keeps nobody waiting', 2 * CLAIM_MS + 1, { sent: 1, unsent: 0, failures: [] }],
  ])('%s when it ends in %i ms', async (_what, ms, expected) => {
    const { report, begin, hold } = createReports();
    hold(begin + ms);
    expect(await report(rejected(1), 30_000)).toEqual(expected);
  });

  it('sends no more when somebody else has taken it over', async () => {
    const { memories, messages, createReport } = createReports();
    let writes = 0;
    const store: MemoryStore = {
      ...memories.store,
      write: async (service, memory) => {
        writes += 1;
        return writes === 1 && memories.store.write(service, memory);
      },
    };
    expect(await createReport(store)(rejected(12))).toEqual({ sent: 5, unsent: 7, failures: ['memory-taken-over'] });
    expect(messages).toHaveLength(5);
  });
});

describe('the time of a report', () => {
  it('lets nothing begin at its end', async () => {
    const { report, messages } = createReports();
    expect(await report(rejected(1), 0)).toMatchObject({ sent: 0 });
    expect(messages).toEqual([]);
  });

  it('lets no further batch out at its end, and the next report sends the rest', async () => {
    const { report, memories, messages } = createReports();
    expect(await report(rejected(12), 2 * BATCH_MS)).toEqual({ sent: 10, unsent: 2, failures: [] });
    expect(memories.writes.at(-1)?.heldUntil).toBe(0);
    expect(await report(rejected(12))).toEqual({ sent: 2, unsent: 0, failures: [] });
    expect(new Set(messages.map(({ subject }) => subject)).size).toBe(12);
  });
});

it('writes nothing where nothing was seen', async () => {
  const { report, memories } = createReports();
  await report(rejected(3));
  const before = memories.writes.length;
  expect(await report([])).toEqual({ sent: 0, unsent: 0, failures: [] });
  expect(memories.writes).toHaveLength(before);
});

it('takes no bug for a message that was not sent', async () => {
  const { report, world } = createReports();
  const bug = new TypeError('a bug');
  world.notify = () => {
    throw bug;
  };
  await expect(report(rejected(1))).rejects.toBe(bug);
});

/** Reports on one service, beginning now, of what is seen now. */
function createReports() {
  const { newReporter, clock, memories, messages, world } = createHealthWorld();
  const createReport =
    (store?: MemoryStore) =>
    (checked: readonly CheckedPair[], timeMs = 600_000) =>
      clock.run(newReporter(store)(SERVICE, judgePairs(checked), clock.now() + timeMs));
  const hold = (heldUntil: number) => memories.items.set(SERVICE, { entries: new Map(), revision: 0, heldUntil });
  return { report: createReport(), createReport, hold, begin: clock.now(), clock, memories, messages, world };
}

function rejected(count: number): readonly CheckedPair[] {
  return clientsNamed(count).map(({ client }) => ({
    pair: { client, service: SERVICE },
    finding: 'rejected',
    provenBy: 'request',
    version: 'v1',
    checkedAt: 0,
    at: 0,
  }));
}
