import { type Pair, pairKey } from '../../../functions/broker/pair.ts';
import type { CheckedPair, CheckPair, CheckRecord } from '../../../functions/health/rules/check-pairs.ts';
import type { ProbeAnswer } from '../../../functions/health/rules/evaluate.ts';
import type { Message } from '../../../functions/health/rules/messages.ts';
import {
  createNotify,
  NotificationFailure,
  type NotificationMemories,
  type NotificationMemory,
} from '../../../functions/health/rules/notify.ts';
import { type ClientList, createHealthRun } from '../../../functions/health/rules/run.ts';
import type { Finding, ProvenBy } from '../../../functions/vocabulary.ts';
import { START } from '../../support/example.ts';
import { seededRandom } from '../../support/seeded-random.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';

interface Answer {
  readonly finding?: Finding;
  /** The failure of the broker, instead of a finding. */
  readonly failure?: string;
  readonly detail?: string | undefined;
  readonly provenBy?: ProvenBy;
  readonly version?: string | undefined;
  readonly checkedAt?: number;
  readonly credentialExpiresAt?: string | undefined;
  /** The time until the broker answers. */
  readonly afterMs?: number;
}

interface World {
  services: readonly string[];
  clients: ClientList;
  intervalMs: number;
  /** The time limit of a run. */
  timeoutMs: number;
  answer: (pair: Pair, checks: number) => Answer | Finding;
  probe: () => ProbeAnswer;
  /** Throws if a message is not sent. */
  notify: (message: Message) => void;
}

/** The real rules of health on a virtual clock. The broker, the memory and the notifier are functions. */
export function createHealthWorld(changes: Partial<World> = {}) {
  const world: World = {
    services: [SERVICE],
    clients: clientsNamed(10),
    intervalMs: 3_600_000,
    timeoutMs: 720_000,
    answer: () => 'accepted',
    probe: () => DENIED,
    notify: () => undefined,
    ...changes,
  };
  const clock = new VirtualClock(START);
  const { now, sleep } = clock;
  const memories = createMemories();
  const messages: Message[] = [];
  const sentAt: number[] = [];
  const probed: { readonly pair: Pair; readonly timeoutMs: number }[] = [];
  const checks: ((typeof probed)[number] & { readonly at: number; readonly atOnce: number })[] = [];
  const recorded: CheckRecord[] = [];
  const random = seededRandom(1);
  let underWay = 0;

  const checkPair: CheckPair = async (pair, timeoutMs) => {
    underWay += 1;
    checks.push({ pair, timeoutMs, at: now(), atOnce: underWay });
    const answered = world.answer(pair, checks.length);
    const answer: Answer = typeof answered === 'string' ? { finding: answered } : answered;
    const { afterMs = 100, failure, detail, finding = 'accepted', provenBy = 'request' } = answer;
    await sleep(Math.min(afterMs, timeoutMs));
    underWay -= 1;
    if (afterMs > timeoutMs) return { kind: 'failed', failure: 'timeout', retryable: true };
    if (failure !== undefined) return { kind: 'failed', failure, detail, retryable: failure !== 'access-denied' };
    return { kind: 'checked', version: 'v1', checkedAt: now(), ...answer, finding, provenBy };
  };
  const sendMessage = async (message: Message): Promise<void> => {
    await sleep(MESSAGE_MS);
    world.notify(message);
    messages.push(message);
    sentAt.push(now());
  };
  const notifyWith = (store: NotificationMemories) =>
    createNotify({ environment: 'dev', memories: store, sendMessage, now, sleep, random });
  const notifyEvent = (checked: readonly CheckedPair[], store = memories.store, timeMs = 600_000) =>
    notifyWith(store)([{ kind: 'client', service: SERVICE, checked }], now() + timeMs);
  const record = (one: CheckRecord) => void recorded.push(one);
  const dependencies = { services: world.services, checkPair, record, now, sleep };
  const start = () =>
    createHealthRun({
      ...dependencies,
      intervalMs: world.intervalMs,
      listClients: async () => world.clients,
      askAsProbe: async (pair, timeoutMs) => {
        probed.push({ pair, timeoutMs });
        return world.probe();
      },
      memories: memories.store,
      notify: notifyWith(memories.store),
      hasSubscribers: async () => true,
      random,
    })(now() + world.timeoutMs);
  const subjectsOf = async <Result extends object>(work: Promise<Result>) => {
    const before = messages.length;
    const result = await clock.run(work);
    return { ...result, subjects: messages.slice(before).map(({ subject }) => subject) };
  };

  return {
    ...{ world, clock, memories, messages, sentAt, checks, probed, recorded, dependencies },
    notify: notifyWith(memories.store),
    /** Runs once, waits for the interval, and returns the result with the subjects of its messages. */
    run: async () => {
      const result = await subjectsOf(start());
      await clock.advance(world.intervalMs);
      return result;
    },
    /** Notifies of a run in which every service rejects acme, and sends `timeMs` at most. */
    reject: ({ store = memories.store, timeMs = 600_000 } = {}) => {
      const at = now();
      const findings = world.services.map((service) => {
        const checked = [checkedAs('acme', 'rejected', at, { pair: { client: 'acme', service } })];
        return { kind: 'run', service, checks: { checked, missed: [] }, listed: [], probe: DENIED, at } as const;
      });
      return subjectsOf(notifyWith(store)(findings, at + timeMs));
    },
    /** Notifies of the findings of an event. Returns the result with the subjects of its messages. */
    tell: (checked: readonly CheckedPair[], { store = memories.store, timeMs = 600_000 } = {}) =>
      subjectsOf(notifyEvent(checked, store, timeMs)),
    notifyEvent,
  };
}

export const SERVICE = 'customer-insights';
/** The subject of a message about a pair. */
export function about(finding: string, client = 'acme', service = SERVICE): string {
  return `[token-broker dev] ${finding}: ${client} on ${service}`;
}

export const DENIED: ProbeAnswer = { condition: 'denied', said: 'access-denied' };
/** The time that messages sent at the same time take. */
export const MESSAGE_MS = 20;

export function clientsNamed(count: number) {
  return Array.from({ length: count }, (_, index) => ({ client: `client-${index}` }));
}

export function servicesNamed(count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => `service-${index}`);
}

/** A pair as a check found it. */
export function checkedAs(client: string, finding: Finding, at = START, more: Partial<CheckedPair> = {}): CheckedPair {
  const pair = { client, service: SERVICE };
  return { pair, finding, provenBy: 'request', version: 'v1', checkedAt: at, at, ...more };
}

/** Answers for single pairs, by key. All others are accepted. */
export function except(answers: Readonly<Record<string, Answer | Finding>>): World['answer'] {
  return (pair) => answers[pairKey(pair)] ?? 'accepted';
}

/** Memories that are written under a condition, like the items of DynamoDB. */
function createMemories() {
  const items = new Map<string | undefined, NotificationMemory>();
  const memoryOf = (service: string | undefined): NotificationMemory =>
    items.get(service) ?? { entries: new Map(), revision: 0 };
  let failures = 0;
  let writes = 0;
  const failIfTold = () => {
    if (failures-- > 0) throw new NotificationFailure('memory-unavailable');
  };
  const store: NotificationMemories = {
    read: async (service) => {
      failIfTold();
      return memoryOf(service);
    },
    write: async (service, memory) => {
      failIfTold();
      if (memoryOf(service).revision !== memory.revision - 1) return false;
      items.set(service, memory);
      writes += 1;
      return true;
    },
  };
  return {
    store,
    writes: () => writes,
    entries: () => memoryOf(SERVICE).entries,
    fail: (calls: number) => {
      failures = calls;
    },
  };
}
