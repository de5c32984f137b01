import { pairKey, type ServiceName } from '../pair/pair.ts';
import {
  type Entries,
  type Entry,
  type Evaluation,
  evaluate,
  type Findings,
  isGood,
  type Observation,
} from './evaluate.ts';
import { type Message, messageOf } from './messages.ts';

/** What the operators were told, as it is remembered; `revision` counts the writes. */
export interface NotificationMemory {
  readonly entries: Entries;
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

/** Begins nothing after `endsAt`, epoch milliseconds. Never throws a `NotificationFailure`. */
export type Notify = (findings: Findings, endsAt: number) => Promise<Notified>;

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
  return async (findings, endsAt) => {
    /** The changes whose messages are out: another reading of the memory must not send them again. */
    const told = new Set<string>();
    const failures: string[] = [];
    let unsent = 0;
    try {
      for (let reading = 1; !(await tellWhatIsNew()); reading += 1) {
        if (reading === MAX_READINGS) throw new NotificationFailure('memory-in-use');
      }
    } catch (error) {
      failures.push(failureWord(error));
    }
    return { sent: told.size, unsent, failures };

    /** `false` when another revision was written in between. */
    async function tellWhatIsNew(): Promise<boolean> {
      const memory = await memories.read(findings.service);
      const { transitions, quiet } = findTransitions(memory.entries, evaluate(findings, memory.entries), now());
      const isTold = (transition: Transition) => findings.isTold || told.has(changeKey(transition));
      let { revision } = memory;
      let entries = remember(quiet, transitions.filter(isTold));
      const waiting = transitions.filter((transition) => !isTold(transition));
      unsent = waiting.length;
      // With more than fits into the memory, everything would be told again and again.
      let room = MAX_ENTRIES - entries.size;
      const affordable = waiting.filter(({ before }) => before !== undefined || room-- > 0);
      if (affordable.length === 0 && isSame(entries, memory.entries)) return true;

      do {
        const batch = now() < endsAt ? affordable.splice(0, AT_ONCE) : [];
        const outcomes = await Promise.all(batch.map(send));
        const delivered = batch.filter((_, index) => outcomes[index] === undefined);
        failures.push(...outcomes.filter((failure) => failure !== undefined));
        unsent -= delivered.length;
        for (const transition of delivered) told.add(changeKey(transition));

        entries = remember(entries, delivered);
        revision += 1;
        if (!(await memories.write(findings.service, { entries, revision }))) return false;
        // Where nothing gets out, trying on would only cost the run its time.
        if (delivered.length === 0) return true;
      } while (affordable.length > 0);
      return true;
    }

    /** What failed, as one word. */
    async function send({ observation, before }: Transition): Promise<string | undefined> {
      const { subject, text } = messageOf(environment, observation, before);
      return sendMessage({ subject, text: text + (findings.postscript ?? '') }).then(() => undefined, failureWord);
    }
  };
}

/** A change that the operators have to be told about. */
interface Transition {
  readonly observation: Observation;
  readonly before: Entry | undefined;
}

/** Where observations differ from what is remembered; `quiet` is what can be remembered without a message. */
export function findTransitions(entries: Entries, { observations, forgotten }: Evaluation, now: number) {
  // A look at something good is of use until every run is over that may have looked before.
  const isFaded = ({ condition, at }: Entry) => isGood(condition) && now - at > LONGEST_RUN_MS;
  const quiet = new Map([...entries].filter(([key, entry]) => !forgotten.has(key) && !isFaded(entry)));
  const transitions: Transition[] = [];
  for (const observation of observations) {
    const key = observationKey(observation);
    const before = quiet.get(key);
    // A run or an event that looked later was faster.
    if (before !== undefined && observation.at < before.at) continue;
    if (isTransition(observation, before)) transitions.push({ observation, before });
    else if (before !== undefined && !isGood(before.condition)) quiet.set(key, { ...before, at: observation.at });
  }
  return { transitions, quiet };
}

/** No Lambda function runs longer. */
const LONGEST_RUN_MS = 15 * 60_000;

/** What was never seen counts as good. Another version that is no better is told: an operator has tried. */
function isTransition(observation: Observation, before: Entry | undefined): boolean {
  const { condition, version } = observation;
  if (before === undefined) return !isGood(condition);
  if (before.condition !== condition) return true;
  const isOther = before.version !== undefined && version !== undefined && version !== before.version;
  return isOther && (condition === 'rejected' || condition === 'secret-malformed');
}

/** What is remembered once the messages about these transitions are out. */
function remember(entries: Entries, transitions: readonly Transition[]): Entries {
  const told = transitions.map(({ observation }) => {
    const { condition, since, at, version } = observation;
    return [observationKey(observation), { condition, since, at, version }] as const;
  });
  return new Map([...entries, ...told]);
}

function observationKey(observation: Observation): string {
  return observation.kind === 'pair' ? pairKey(observation.pair) : observation.kind;
}

function changeKey({ observation }: Transition): string {
  return `${observationKey(observation)} ${observation.condition}`;
}

function isSame(one: Entries, other: Entries): boolean {
  return one.size === other.size && [...one].every(([key, entry]) => other.get(key) === entry);
}

function failureWord(error: unknown): string {
  if (error instanceof NotificationFailure) return error.message;
  throw error;
}

/** So many fit into an item of the table, even with the longest names. */
const MAX_ENTRIES = 1_500;
const AT_ONCE = 5;
/** Each further one follows upon a write of another run or event, which has then sent what it had to. */
const MAX_READINGS = 10;
