import type { CheckRecord, PairAnswer } from '../../functions/broker/health/check-pairs.ts';
import type { ProbeAnswer } from '../../functions/broker/health/evaluate.ts';
import type { Message } from '../../functions/broker/health/messages.ts';
import {
  createNotify,
  NotificationFailure,
  type NotificationMemories,
  type NotificationMemory,
} from '../../functions/broker/health/notify.ts';
import { createHealthRun, type ListedClient } from '../../functions/broker/health/run.ts';
import { type Pair, pairKey } from '../../functions/broker/pair/pair.ts';
import type { Finding, ProvenBy } from '../../functions/contract.ts';
import { START } from './example.ts';
import { seededRandom } from './seeded-random.ts';
import { VirtualClock } from './virtual-clock.ts';

interface Answer {
  readonly finding: Finding;
  readonly provenBy?: ProvenBy;
  readonly version?: string;
  readonly checkedAt?: number;
  /** How long the broker takes to say it. */
  readonly afterMs?: number;
}

interface World {
  services: readonly string[];
  clients: readonly ListedClient[];
  intervalMs: number;
  /** What a run may take. */
  timeoutMs: number;
  /** A text is the word for a failure of the broker itself. */
  answer: (pair: Pair, checks: number) => Answer | Finding | { readonly failure: string; readonly afterMs?: number };
  probe: () => ProbeAnswer;
  /** Throws when a message is not sent. */
  notify: (message: Message) => void;
}

/** The real rules of health around a broker, a memory and a notifier that are functions, on a virtual clock. */
export function createHealthWorld(changes: Partial<World> = {}) {
  const world: World = {
    services: [SERVICE],
    clients: clientsNamed(10),
    intervalMs: 3_600_000,
    timeoutMs: 720_000,
    answer: () => 'accepted',
    probe: () => ({ condition: 'denied', said: 'access-denied' }),
    notify: () => undefined,
    ...changes,
  };
  const clock = new VirtualClock(START);
  const { now, sleep } = clock;
  const memories = createMemories();
  const messages: Message[] = [];
  const checks: { readonly pair: Pair; readonly at: number; readonly atOnce: number }[] = [];
  const probed: Pair[] = [];
  const recorded: CheckRecord[] = [];
  const random = seededRandom(1);
  let underWay = 0;

  const checkPair = async (pair: Pair, timeoutMs: number): Promise<PairAnswer> => {
    underWay += 1;
    checks.push({ pair, at: now(), atOnce: underWay });
    const answered = world.answer(pair, checks.length);
    const answer = typeof answered === 'string' ? { finding: answered } : answered;
    const { afterMs = 100 } = answer;
    await sleep(Math.min(afterMs, timeoutMs));
    underWay -= 1;
    if (afterMs > timeoutMs) return { kind: 'failed', failure: 'timeout', retryable: true };
    if ('failure' in answer) return { kind: 'failed', failure: answer.failure, retryable: true };
    const { finding, provenBy = 'request', version = 'v1', checkedAt = now() } = answer;
    return { kind: 'checked', finding, provenBy, version, checkedAt };
  };
  const sendMessage = async (message: Message): Promise<void> => {
    await sleep(20);
    world.notify(message);
    messages.push(message);
  };

  const newNotify = (store: NotificationMemories = memories.store) =>
    createNotify({ environment: 'dev', memories: store, sendMessage, now });
  const start = (store: NotificationMemories = memories.store) =>
    createHealthRun({
      services: world.services,
      intervalMs: world.intervalMs,
      listClients: async () => ({ clients: world.clients, ignored: [] }),
      checkPair,
      askAsProbe: async (pair) => {
        probed.push(pair);
        return world.probe();
      },
      memories: store,
      notify: newNotify(store),
      hasSubscriber: async () => true,
      record: (record) => void recorded.push(record),
      now,
      sleep,
      random,
    })(now() + world.timeoutMs);

  return {
    world,
    clock,
    memories,
    messages,
    checks,
    probed,
    recorded,
    newNotify,
    start,
    /** One run after the interval since the last one, and what it sent. */
    run: async () => {
      const before = messages.length;
      const result = await clock.run(start());
      await clock.advance(world.intervalMs);
      return { ...result, subjects: messages.slice(before).map(({ subject }) => subject) };
    },
  };
}

export const SERVICE = 'customer-insights';

export function clientsNamed(count: number): ListedClient[] {
  return Array.from({ length: count }, (_, index) => ({ client: `client-${index}` }));
}

/** Answers for single pairs, by key; all others are accepted. */
export function except(answers: Readonly<Record<string, Answer | Finding>>): World['answer'] {
  return (pair) => answers[pairKey(pair)] ?? 'accepted';
}

/** Memories as DynamoDB keeps them: written under a condition, and after a moment. */
function createMemories() {
  const items = new Map<string | undefined, NotificationMemory>();
  const empty: NotificationMemory = { entries: new Map(), revision: 0 };
  const writes: NotificationMemory[] = [];
  let failures = 0;
  const failIfTold = () => {
    if (failures <= 0) return;
    failures -= 1;
    throw new NotificationFailure('memory-unavailable');
  };
  const store: NotificationMemories = {
    read: async (service) => {
      failIfTold();
      return items.get(service) ?? empty;
    },
    write: async (service, memory) => {
      failIfTold();
      if ((items.get(service) ?? empty).revision !== memory.revision - 1) return false;
      items.set(service, memory);
      writes.push(memory);
      return true;
    },
  };
  return {
    store,
    items,
    writes,
    fail: (calls: number) => {
      failures = calls;
    },
  };
}
