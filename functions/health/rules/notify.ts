import type { ServiceName } from '../../broker/pair.ts';
import { type Entries, type Entry, evaluate, type Findings, isGood, subjectOf } from './evaluate.ts';
import { type Change, type Message, messageKey, messageOf } from './messages.ts';

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

/** Begins no message of a run or an event after `endsAt` (epoch milliseconds). Never throws a `NotificationFailure`. */
export type Notify = (findings: readonly Findings[], endsAt: number) => Promise<Notified>;

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
  readonly sleep: (ms: number) => Promise<unknown>;
  /** Returns a number from 0 up to 1. */
  readonly random: () => number;
}

/**
 * Sends the changes since the last messages to the operators, and remembers them. A run sends a message for each
 * service and kind of change. An event sends a single message after a random time. Both send at most four a second,
 * because SNS suspends an e-mail address above ten.
 *
 * A memory is written after the messages, by compare-and-set on its revision. If another writer was first, its findings
 * are evaluated again. A message that was not sent is not remembered, so the next run sends it. A message is sent twice
 * if runs and events overlap, or if the function ends before the write.
 *
 * @see https://docs.aws.amazon.com/sns/latest/dg/sns-email-notifications.html
 */
export function createNotify({ environment, memories, sendMessage, now, sleep, random }: Dependencies): Notify {
  /** The earliest time of the next message of this instance. */
  let nextAt = 0;

  return async (findings, endsAt) => {
    const isEvent = findings.some(({ kind }) => kind === 'client');
    /** Keys of changes, so that no message is sent twice when a memory is read again. */
    const tried = new Set<string>();
    const sent = new Set<string>();
    const failures = new Set<string>();
    const counts = { sent: 0, unsent: 0 };
    let open = findings;
    for (let reads = 0; open.length > 0 && reads < MAX_READS; reads += 1) {
      const looks = await Promise.all(open.map(look));
      const changes = looks.flatMap(({ transitions }) => transitions).filter(({ key }) => !tried.has(key));
      if (isEvent && changes.length > 0 && reads === 0) {
        await sleep(Math.min(random() * JITTER_MS, (endsAt - now()) / 2));
        continue;
      }
      for (const group of Map.groupBy(changes, isEvent ? () => '' : messageKey).values()) await send(group);
      const areDone = await Promise.all(looks.map(remember));
      open = open.filter((_, index) => !areDone[index]);
    }
    if (open.length > 0) failures.add('memory-in-use');
    return { ...counts, failures: [...failures] };

    async function look(found: Findings) {
      const memory = await memories.read(found.service).catch(noteFailure);
      const { transitions, quiet } = findTransitions(evaluate(found, memory?.entries ?? new Map()), now());
      // Every run sends an incident of the broker. The table that it cannot reach also contains the memory.
      const known = transitions.filter(({ observation: { kind } }) => memory !== undefined || kind === 'broker');
      return { service: found.service, memory, transitions: known, quiet };
    }

    async function send(group: readonly Transition[]): Promise<void> {
      for (const { key } of group) tried.add(key);
      const at = Math.max(now(), nextAt);
      const isInTime = at < endsAt;
      if (isInTime) {
        nextAt = at + GAP_MS;
        await sleep(at - now());
      }
      const isSent = isInTime && (await sendMessage(messageOf(environment, group)).then(() => true, noteFailure));
      for (const { key } of isSent ? group : []) sent.add(key);
      counts[isSent ? 'sent' : 'unsent'] += 1;
    }

    /** Returns whether the memory is written, or need not or cannot be written. */
    async function remember({ service, memory, transitions, quiet }: Awaited<ReturnType<typeof look>>) {
      const out = transitions.filter(({ key }) => sent.has(key));
      const entries = new Map([...quiet, ...out.map(({ subject, entry }) => [subject, entry] as const)]);
      if (memory === undefined || isSame(entries, memory.entries)) return true;
      return (await memories.write(service, { entries, revision: memory.revision + 1 }).catch(noteFailure)) ?? true;
    }

    function noteFailure(error: unknown): undefined {
      if (!(error instanceof NotificationFailure)) throw error;
      failures.add(error.message);
    }
  };
}

/** The time between two messages of an instance. */
const GAP_MS = 250;
/** Spreads the messages of events at the same time. */
const JITTER_MS = 60_000;
/** Limit of repetitions. Each follows a write of another run or event, which has sent its own messages. */
const MAX_READS = 10;

/** A change that needs a message. */
interface Transition extends Change {
  readonly key: string;
  readonly subject: string;
  readonly entry: Entry;
}

/** Returns the observations that need a message, and `quiet`, the entries to remember without a message. */
function findTransitions({ observations, kept }: ReturnType<typeof evaluate>, now: number) {
  // A good entry outranks older observations of a run, so it is kept as long as a run can last.
  const quiet = new Map([...kept].filter(([, entry]) => !isGood(entry) || now - entry.at <= LONGEST_RUN_MS));
  const transitions: Transition[] = [];
  for (const observation of observations) {
    const { condition, since, at, version } = observation;
    const subject = subjectOf(observation);
    const before = quiet.get(subject);
    // The memory contains a newer observation.
    if (before !== undefined && at <= before.at) continue;
    const detail = observation.kind === 'pair' ? observation.detail : undefined;
    const entry = { condition, since, at, version, detail };
    const key = `${observation.kind === 'service' ? observation.service : subject} ${condition}`;
    if (isTransition(entry, before)) transitions.push({ key, subject, observation, entry, before });
    else if (before !== undefined && !isGood(before)) {
      const first = condition === 'lasting' ? entry : before;
      quiet.set(subject, { ...entry, since: first.since, version: version ?? first.version });
    }
  }
  return { transitions, quiet };
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

function isSame(a: Entries, b: Entries): boolean {
  return a.size === b.size && [...a].every(([subject, entry]) => b.get(subject) === entry);
}
