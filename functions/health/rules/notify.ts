import { pairKey, type ServiceName } from '../../broker/pair.ts';
import { type Entries, type Entry, evaluate, type Findings, isGood, type Observation } from './evaluate.ts';
import { type Message, messageOf } from './messages.ts';

/** The conditions that the operators were told; `revision` counts the writes. */
export interface NotificationMemory {
  readonly entries: Entries;
  readonly revision: number;
}

/** Keeps one memory per service, and one (`undefined`) of the broker and the probe. */
export interface NotificationMemories {
  /** The latest one; an empty one when there is none. @throws NotificationFailure */
  readonly read: (service: ServiceName | undefined) => Promise<NotificationMemory>;
  /** Replaces the previous revision; `false` when another writer came first. @throws NotificationFailure */
  readonly write: (service: ServiceName | undefined, memory: NotificationMemory) => Promise<boolean>;
}

/** Sends a message to the operators. @throws NotificationFailure when it may not have been sent */
export type SendMessage = (message: Message) => Promise<void>;

/** The memory or the topic failed. The message is one word without any of the content. */
export class NotificationFailure extends Error {
  override readonly name = 'NotificationFailure';
}

/** Sends no further message after `endsAt`, epoch milliseconds. Never throws a `NotificationFailure`. */
export type Notify = (findings: Findings, endsAt: number) => Promise<Notified>;

export interface Notified {
  readonly sent: number;
  /** Messages that are left to the next run or event. */
  readonly unsent: number;
  /** The failures, one word each. */
  readonly failures: readonly string[];
}

interface Dependencies {
  readonly environment: string;
  readonly memories: NotificationMemories;
  readonly sendMessage: SendMessage;
  readonly now: () => number;
}

/**
 * Sends the operators the changes since the last messages, a few at a time, and remembers them.
 *
 * The memory is written after the messages, by compare-and-set on its revision; if another writer came first, everything
 * is evaluated again. A message that was not sent is not remembered, so the next run sends it: none is lost. A message is
 * sent twice when runs and events overlap, or its sender dies before it writes.
 */
export function createNotify({ environment, memories, sendMessage, now }: Dependencies): Notify {
  return async (findings, endsAt) => {
    /** Changes, by key, so that no message is sent twice when the memory is read again. */
    const tried = new Set<string>();
    const told = new Set<string>();
    const failures: string[] = [];
    let unsent = 0;
    await tellAll().catch((error) => failures.push(failureWord(error)));
    return { sent: told.size, unsent, failures };

    async function tellAll(): Promise<void> {
      for (let overtaken = 0; overtaken < MAX_OVERTAKEN; ) {
        const { entries, revision } = await memories.read(findings.service);
        const { transitions, quiet } = findTransitions(evaluate(findings, entries), now());
        const batch = transitions.filter(({ key }) => !tried.has(key)).slice(0, now() < endsAt ? AT_ONCE : 0);
        await Promise.all(batch.map(send));

        const out = transitions.filter(({ key }) => told.has(key));
        unsent = transitions.length - out.length;
        const remembered = withUpdates(quiet, out);
        if (isSame(remembered, entries)) return;
        const isWritten = await memories.write(findings.service, { entries: remembered, revision: revision + 1 });
        if (!isWritten) overtaken += 1;
        else if (batch.length < AT_ONCE) return;
      }
      throw new NotificationFailure('memory-in-use');
    }

    async function send({ key, observation, before }: Transition): Promise<void> {
      tried.add(key);
      try {
        await sendMessage(messageOf(environment, observation, before));
        told.add(key);
      } catch (error) {
        failures.push(failureWord(error));
      }
    }
  };
}

/** An observation, and the entry that is remembered of it. */
interface Update {
  readonly observation: Observation;
  readonly entry: Entry;
}

/** A change that the operators have to be told about. */
interface Transition extends Update {
  readonly key: string;
  readonly before: Entry | undefined;
}

/** The observations that differ from the memory; `quiet` are the entries to remember without a message. */
function findTransitions({ observations, kept }: ReturnType<typeof evaluate>, now: number) {
  // Good entries are kept as long as a run can last, because they outrank its older observations.
  const keep = (entry?: Entry) => (entry && (!isGood(entry) || now - entry.at <= LONGEST_RUN_MS) ? entry : undefined);
  const pairs = new Map([...kept.pairs].filter(([, entry]) => keep(entry)));
  const fresh = { pairs, service: keep(kept.service), broker: keep(kept.broker), probe: keep(kept.probe) };
  const transitions: Transition[] = [];
  const updates: Update[] = [];
  for (const observation of observations) {
    const { kind, condition, since, at, version } = observation;
    const subject = kind === 'pair' ? pairKey(observation.pair) : kind;
    const before = kind === 'pair' ? pairs.get(subject) : fresh[kind];
    // A newer observation is remembered already.
    if (before !== undefined && at <= before.at) continue;
    const entry = { condition, since, at, version };
    if (isTransition(entry, before)) transitions.push({ key: `${subject} ${condition}`, observation, entry, before });
    else if (before !== undefined && !isGood(before)) updates.push({ observation, entry: { ...before, at } });
  }
  return { transitions, quiet: withUpdates(fresh, updates) };
}

/** No Lambda function runs longer. */
const LONGEST_RUN_MS = 15 * 60_000;

/** A first observation is told unless it is good. A new version that still fails is told: an operator has tried. */
function isTransition({ condition, version }: Entry, before: Entry | undefined): boolean {
  if (before === undefined) return !isGood({ condition });
  if (before.condition !== condition) return true;
  const isOther = before.version !== undefined && version !== undefined && version !== before.version;
  return isOther && (condition === 'rejected' || condition === 'secret-malformed');
}

function withUpdates(entries: Entries, updates: readonly Update[]): Entries {
  const pairs = new Map(entries.pairs);
  const others: { [kind in Exclude<Observation['kind'], 'pair'>]?: Entry } = {};
  for (const { observation, entry } of updates) {
    if (observation.kind === 'pair') pairs.set(pairKey(observation.pair), entry);
    else others[observation.kind] = entry;
  }
  return { ...entries, ...others, pairs };
}

function isSame(one: Entries, other: Entries): boolean {
  if (one.service !== other.service || one.broker !== other.broker || one.probe !== other.probe) return false;
  return one.pairs.size === other.pairs.size && [...one.pairs].every(([key, entry]) => other.pairs.get(key) === entry);
}

function failureWord(error: unknown): string {
  if (error instanceof NotificationFailure) return error.message;
  throw error;
}

const AT_ONCE = 5;
/** Each repetition follows a write of another run or event, which has sent its own messages. */
const MAX_OVERTAKEN = 10;
