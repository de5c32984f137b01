import { pairKey, type ServiceName } from '../../broker/pair.ts';
import { type Entries, type Entry, evaluate, expiryKey, type Findings, isGood, type Observation } from './evaluate.ts';
import { type Message, messageOf } from './messages.ts';

/** The conditions that were reported to the operators. `revision` counts the writes. */
export interface NotificationMemory {
  readonly entries: Entries;
  readonly revision: number;
}

/** Stores a memory per service, and with `undefined` the memory of the broker and the probe. */
export interface NotificationMemories {
  /** Returns the latest revision, or an empty memory. @throws NotificationFailure */
  readonly read: (service: ServiceName | undefined) => Promise<NotificationMemory>;
  /** Replaces the previous revision. Returns `false` if another writer was first. @throws NotificationFailure */
  readonly write: (service: ServiceName | undefined, memory: NotificationMemory) => Promise<boolean>;
}

/** Sends a message to the operators. @throws NotificationFailure if the message may not have been sent */
export type SendMessage = (message: Message) => Promise<void>;

/** A failure of the memory or the topic. Its message is a word without any of the content. */
export class NotificationFailure extends Error {
  override readonly name = 'NotificationFailure';
}

/** Begins no message after `endsAt` (epoch milliseconds). Never throws a `NotificationFailure`. */
export type Notify = (findings: Findings, endsAt: number) => Promise<Notified>;

export interface Notified {
  readonly sent: number;
  /** The number of messages that the next run or event has to send. */
  readonly unsent: number;
  /** A word for each failure. */
  readonly failures: readonly string[];
}

interface Dependencies {
  readonly environment: string;
  readonly memories: NotificationMemories;
  readonly sendMessage: SendMessage;
  readonly now: () => number;
}

/**
 * Sends the changes since the last messages to the operators, five at a time, and remembers them.
 * The memory is written after the messages, by compare-and-set on its revision. If another writer was first, everything
 * is evaluated again. A message that was not sent is not remembered, so the next run sends it. A message is sent twice
 * if runs and events overlap, or if the function ends before the write.
 */
export function createNotify({ environment, memories, sendMessage, now }: Dependencies): Notify {
  return async (findings, endsAt) => {
    /** Keys of changes, so that no message is sent twice when the memory is read again. */
    const tried = new Set<string>();
    const sent = new Set<string>();
    const failures: string[] = [];
    let unsent = 0;
    await sendAll().catch((error) => failures.push(failureWord(error)));
    return { sent: sent.size, unsent, failures };

    async function sendAll(): Promise<void> {
      for (let overtaken = 0; overtaken < MAX_OVERTAKEN; ) {
        const { entries, revision } = await memories.read(findings.service).catch(sendWithoutMemory);
        const { transitions, quiet } = findTransitions(evaluate(findings, entries), now());
        const batch = transitions.filter(({ key }) => !tried.has(key)).slice(0, now() < endsAt ? AT_ONCE : 0);
        await Promise.all(batch.map(send));

        const out = transitions.filter(({ key }) => sent.has(key));
        unsent = transitions.length - out.length;
        const remembered = withUpdates(quiet, out);
        if (isSame(remembered, entries)) return;
        const isWritten = await memories.write(findings.service, { entries: remembered, revision: revision + 1 });
        if (!isWritten) overtaken += 1;
        else if (batch.length < AT_ONCE) return;
      }
      throw new NotificationFailure('memory-in-use');
    }

    /** Sends an incident of the broker in every run. The table that it cannot reach also contains the memory. */
    async function sendWithoutMemory(failure: unknown): Promise<never> {
      const { transitions } = findTransitions(evaluate(findings, { pairs: new Map() }), now());
      await Promise.all(transitions.filter(({ observation }) => observation.kind === 'broker').map(send));
      throw failure;
    }

    async function send({ key, observation, before }: Transition): Promise<void> {
      tried.add(key);
      try {
        await sendMessage(messageOf(environment, observation, before));
        sent.add(key);
      } catch (error) {
        failures.push(failureWord(error));
      }
    }
  };
}

/** A change that needs a message. */
interface Transition {
  readonly key: string;
  readonly observation: Observation;
  readonly entry: Entry;
  readonly before: Entry | undefined;
}

type Update = Pick<Transition, 'observation' | 'entry'>;

/** Returns the observations that need a message, and `quiet`, the entries to remember without a message. */
function findTransitions({ observations, kept }: ReturnType<typeof evaluate>, now: number) {
  // A good entry outranks older observations of a run, so it is kept as long as a run can last.
  const keep = (entry?: Entry) => (entry && (!isGood(entry) || now - entry.at <= LONGEST_RUN_MS) ? entry : undefined);
  const pairs = new Map([...kept.pairs].filter(([, entry]) => keep(entry)));
  const fresh = { pairs, service: keep(kept.service), broker: keep(kept.broker), probe: keep(kept.probe) };
  const transitions: Transition[] = [];
  const updates: Update[] = [];
  for (const observation of observations) {
    const { condition, since, at, version } = observation;
    const subject = subjectOf(observation);
    const before = 'pair' in observation ? pairs.get(subject) : fresh[observation.kind];
    // The memory contains a newer observation.
    if (before !== undefined && at <= before.at) continue;
    const entry = { condition, since, at, version };
    if (isTransition(entry, before)) transitions.push({ key: `${subject} ${condition}`, observation, entry, before });
    else if (before !== undefined && !isGood(before)) {
      updates.push({ observation, entry: condition === 'lasting' ? entry : { ...before, at } });
    }
  }
  return { transitions, quiet: withUpdates(fresh, updates) };
}

/** The longest time limit of a Lambda function. */
const LONGEST_RUN_MS = 15 * 60_000;

/** Returns whether a message is needed. A new version that still fails needs a message: an operator has tried. */
function isTransition({ condition, version }: Entry, before: Entry | undefined): boolean {
  if (before === undefined) return !isGood({ condition });
  if (before.condition !== condition) return condition !== 'lasting';
  const isOther = before.version !== undefined && version !== undefined && version !== before.version;
  return isOther && /^(rejected|secret-malformed|end.*)$/.test(condition);
}

function withUpdates(entries: Entries, updates: readonly Update[]): Entries {
  const pairs = new Map(entries.pairs);
  const others: { [kind in Exclude<Observation['kind'], 'pair' | 'expiry'>]?: Entry } = {};
  for (const { observation, entry } of updates) {
    if ('pair' in observation) pairs.set(subjectOf(observation), entry);
    else others[observation.kind] = entry;
  }
  return { ...entries, ...others, pairs };
}

function subjectOf(observation: Observation): string {
  if (observation.kind === 'expiry') return expiryKey(observation.pair);
  return observation.kind === 'pair' ? pairKey(observation.pair) : observation.kind;
}

function isSame(a: Entries, b: Entries): boolean {
  if (a.service !== b.service || a.broker !== b.broker || a.probe !== b.probe) return false;
  return a.pairs.size === b.pairs.size && [...a.pairs].every(([key, entry]) => b.pairs.get(key) === entry);
}

function failureWord(error: unknown): string {
  if (error instanceof NotificationFailure) return error.message;
  throw error;
}

const AT_ONCE = 5;
/** Limit of repetitions. Each follows a write of another run or event, which has sent its own messages. */
const MAX_OVERTAKEN = 10;
