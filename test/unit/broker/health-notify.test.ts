import { describe, expect, it } from 'vitest';
import type { CheckedPair } from '../../../functions/broker/health/check-pairs.ts';
import type { NotificationMemories } from '../../../functions/broker/health/notify.ts';
import { clientsNamed, createHealthWorld, SERVICE } from '../../support/health-world.ts';

/** Five messages go out at once, and take this long together. */
const BATCH_MS = 20;

describe('the memory', () => {
  it('is written after each batch of messages', async () => {
    const { notify, memories } = createNotifications();
    expect(await notify(rejected(12))).toEqual({ sent: 12, unsent: 0, failures: [] });
    expect(memories.writes.map(({ entries }) => entries.size)).toEqual([5, 10, 12]);
  });

  it('is read again when another revision is there, and what is out is not sent again', async () => {
    const { memories, messages, notifyWith } = createNotifications();
    let isOvertaken = false;
    const store: NotificationMemories = {
      ...memories.store,
      write: async (service, memory) => {
        if (!isOvertaken) await memories.store.write(service, { entries: OTHER, revision: memory.revision });
        isOvertaken = true;
        return memories.store.write(service, memory);
      },
    };
    expect(await notifyWith(store)(rejected(7))).toEqual({ sent: 7, unsent: 0, failures: [] });
    expect(messages).toHaveLength(7);
    expect(memories.items.get(SERVICE)?.entries.size).toBe(8);
  });

  it('that is always overtaken is given up, and the next notification sends what it does not hold', async () => {
    const { memories, messages, notify, notifyWith } = createNotifications();
    const busy: NotificationMemories = { ...memories.store, write: async () => false };
    expect(await notifyWith(busy)(rejected(1))).toEqual({ sent: 1, unsent: 0, failures: ['memory-in-use'] });
    expect(await notify(rejected(1))).toMatchObject({ sent: 1 });
    expect(messages).toHaveLength(2);
  });
});

describe('the time of a notification', () => {
  it('lets nothing begin at its end', async () => {
    const { notify, messages } = createNotifications();
    expect(await notify(rejected(1), 0)).toMatchObject({ sent: 0 });
    expect(messages).toEqual([]);
  });

  it('lets no further batch out at its end, and the next notification sends the rest', async () => {
    const { notify, messages } = createNotifications();
    expect(await notify(rejected(12), 2 * BATCH_MS)).toEqual({ sent: 10, unsent: 2, failures: [] });
    expect(await notify(rejected(12))).toEqual({ sent: 2, unsent: 0, failures: [] });
    expect(new Set(messages.map(({ subject }) => subject)).size).toBe(12);
  });
});

it('writes nothing where nothing was seen', async () => {
  const { notify, memories } = createNotifications();
  await notify(rejected(3));
  const before = memories.writes.length;
  expect(await notify([])).toEqual({ sent: 0, unsent: 0, failures: [] });
  expect(memories.writes).toHaveLength(before);
});

it('takes no bug for a message that was not sent', async () => {
  const { notify, world } = createNotifications();
  const bug = new TypeError('a bug');
  world.notify = () => {
    throw bug;
  };
  await expect(notify(rejected(1))).rejects.toBe(bug);
});

/** Notifications about one service, beginning now, of what is seen now. */
function createNotifications() {
  const { newNotify, clock, memories, messages, world } = createHealthWorld();
  const notifyWith =
    (store?: NotificationMemories) =>
    (checked: readonly CheckedPair[], timeMs = 600_000) =>
      clock.run(newNotify(store)({ kind: 'client', service: SERVICE, checked }, clock.now() + timeMs));
  return { notify: notifyWith(), notifyWith, memories, messages, world };
}

const OTHER = new Map([[`other/${SERVICE}`, { condition: 'rejected', since: 0, at: 0 } as const]]);

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
