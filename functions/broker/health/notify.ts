import type { ServiceName } from '../pair/pair.ts';
import { evaluate, type Findings } from './evaluate.ts';
import { type Message, messageOf } from './messages.ts';
import { type Entries, findTransitions, observationKey, remember, type Transition } from './transitions.ts';

/** What the operators were told, as it is remembered. */
export interface NotificationMemory {
  readonly entries: Entries;
  /** Counts the writes. */
  readonly revision: number;
}

/** Keeps one memory per service, and one of all that concerns no single service (`undefined`). */
export interface NotificationMemories {
  /** The latest one; an empty one when there is none. @throws NotificationFailure */
  readonly read: (service: ServiceName | undefined) => Promise<NotificationMemory>;
  /** Writes a memory in the place of its predecessor; `false` when another one is there. @throws NotificationFailure */
  readonly write: (service: ServiceName | undefined, memory: NotificationMemory) => Promise<boolean>;
}

/** Sends a message to the operators. @throws NotificationFailure when it may not have been sent */
export type SendMessage = (message: Message) => Promise<void>;

/** The memory or the topic failed. The message is one word and holds nothing of what was written or sent. */
export class NotificationFailure extends Error {
  override readonly name = 'NotificationFailure';
}

/** Begins nothing after `endsAt`, epoch milliseconds, whatever is left to send. Never throws a `NotificationFailure`. */
export type Notify = (findings: Findings, endsAt: number, joint?: JointMessage) => Promise<Notified>;

/** One message stands for the findings on several services. */
interface JointMessage {
  /** What the message says of all of them, after everything else. */
  readonly postscript: string;
  /** The message is out: what is found now is only remembered. */
  readonly isOut: boolean;
}

export interface Notified {
  readonly sent: number;
  /** Messages that are left to the next run or event. */
  readonly unsent: number;
  /** What failed, one word each. */
  readonly failures: readonly string[];
}

interface Dependencies {
  readonly environment: string;
  readonly memories: NotificationMemories;
  readonly sendMessage: SendMessage;
  readonly now: () => number;
}

/**
 * Tells the operators what has changed since they were last told, and remembers it: evaluate the findings, find the
 * transitions, send the messages, write the memory.
 *
 * The memory is written after the messages, in the place of the revision that was read; where it has another revision by
 * then, it is read again and everything is evaluated anew. What could not be sent is not remembered, so the next run sends
 * it: no message is lost. Runs and events at once may each send the same one; else one is sent twice only when its
 * sender dies or loses the table between sending and writing, or is told that a message was not sent which was.
 */
export function createNotify({ environment, memories, sendMessage, now }: Dependencies): Notify {
  return async (findings, endsAt, joint) => {
    const progress: Progress = { told: new Set(), failures: [], unsent: 0 };
    try {
      for (let reading = 1; reading <= MAX_READINGS; reading += 1) {
        if (await tellWhatIsNew(findings, endsAt, progress, joint)) return notified(progress);
      }
      progress.failures.push('memory-in-use');
    } catch (error) {
      progress.failures.push(failureWord(error));
    }
    return notified(progress);
  };

  /** `false` when another revision was written in between. */
  async function tellWhatIsNew(
    findings: Findings,
    endsAt: number,
    progress: Progress,
    joint: JointMessage | undefined,
  ): Promise<boolean> {
    const { service } = findings;
    const memory = await memories.read(service);
    const { transitions, quiet } = findTransitions(memory.entries, evaluate(findings, memory.entries), now());
    const isTold = (transition: Transition) => joint?.isOut === true || progress.told.has(changeKey(transition));
    let { revision } = memory;
    let entries = remember(quiet, transitions.filter(isTold));
    const waiting = transitions.filter((transition) => !isTold(transition));
    progress.unsent = waiting.length;
    const affordable = affordableOnes(waiting, entries);
    if (affordable.length === 0 && isSame(entries, memory.entries)) return true;

    do {
      const batch = now() < endsAt ? affordable.splice(0, AT_ONCE) : [];
      const outcomes = await Promise.all(batch.map((transition) => send(transition, joint)));
      const delivered = batch.filter((_, index) => outcomes[index] === undefined);
      progress.failures.push(...outcomes.filter((failure) => failure !== undefined));
      progress.unsent -= delivered.length;
      for (const transition of delivered) progress.told.add(changeKey(transition));

      entries = remember(entries, delivered);
      revision += 1;
      if (!(await memories.write(service, { entries, revision }))) return false;
      // Where nothing gets out, trying on would only cost the run its time.
      if (delivered.length === 0) return true;
    } while (affordable.length > 0);
    return true;
  }

  async function send({ observation, before }: Transition, joint: JointMessage | undefined) {
    try {
      const { subject, text } = messageOf(environment, observation, before);
      await sendMessage({ subject, text: text + (joint?.postscript ?? '') });
      return undefined;
    } catch (error) {
      return failureWord(error);
    }
  }
}

/** What a notification has come to so far. */
interface Progress {
  /** The changes whose messages are out: another reading of the memory must not send them again. */
  readonly told: Set<string>;
  readonly failures: string[];
  unsent: number;
}

function notified({ told, unsent, failures }: Progress): Notified {
  return { sent: told.size, unsent, failures };
}

/** What several notifications come to together. */
export function totalOf(all: readonly Notified[]): Notified {
  return {
    sent: all.reduce((sum, { sent }) => sum + sent, 0),
    unsent: all.reduce((sum, { unsent }) => sum + unsent, 0),
    failures: all.flatMap(({ failures }) => failures),
  };
}

function failureWord(error: unknown): string {
  if (error instanceof NotificationFailure) return error.message;
  throw error;
}

function changeKey({ observation }: Transition): string {
  return `${observationKey(observation)} ${observation.condition}`;
}

function isSame(one: Entries, other: Entries): boolean {
  return one.size === other.size && [...one].every(([key, entry]) => other.get(key) === entry);
}

/** What can be remembered, too: with more than fits into the memory, everything would be told again and again. */
function affordableOnes(transitions: readonly Transition[], { size }: Entries): Transition[] {
  const known = transitions.filter(({ before }) => before !== undefined);
  const fresh = transitions.filter(({ before }) => before === undefined);
  return [...known, ...fresh.slice(0, Math.max(0, MAX_ENTRIES - size))];
}

/** So many fit into an item of the table, whatever the names are. */
const MAX_ENTRIES = 1_500;
const AT_ONCE = 5;
/** Each further one follows upon a write of another run or event, which has then sent what it had to. */
const MAX_READINGS = 10;
