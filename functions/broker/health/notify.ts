import type { ServiceName } from '../pair/pair.ts';
import { type Message, messageOf } from './messages.ts';
import { type Entries, findTransitions, type Judge, remember, type Transition } from './transitions.ts';

/** What is remembered, and until when somebody is busy with it. */
export interface Memory {
  readonly entries: Entries;
  /** Counts the writes. */
  readonly revision: number;
  /** Until then somebody is sending what follows from these entries. Epoch milliseconds. */
  readonly heldUntil: number;
}

/** Keeps one memory per service, and one of all that concerns no single service (`undefined`). */
export interface MemoryStore {
  /** The latest one; an empty one when there is none. @throws ReportFailure */
  readonly read: (service: ServiceName | undefined) => Promise<Memory>;
  /** Writes a memory in the place of its predecessor; `false` when somebody else has. @throws ReportFailure */
  readonly write: (service: ServiceName | undefined, memory: Memory) => Promise<boolean>;
}

/** Sends a message to the operators. @throws ReportFailure when it may not have been sent */
export type Notify = (message: Message) => Promise<void>;

/** The memory or the notifier failed. The message is one word and holds nothing of what was written or sent. */
export class ReportFailure extends Error {
  override readonly name = 'ReportFailure';
}

/** `service` says in which memory. Ends soon after `endsAt`, epoch milliseconds, whatever is left to send. */
export type Report = (service: ServiceName | undefined, judge: Judge, endsAt: number) => Promise<Reported>;

export interface Reported {
  readonly sent: number;
  /** Messages that are left to the next report. */
  readonly unsent: number;
  /** What failed, one word each. */
  readonly failures: readonly string[];
}

interface Dependencies {
  readonly environment: string;
  readonly memories: MemoryStore;
  readonly notify: Notify;
  readonly now: () => number;
  readonly sleep: (ms: number) => Promise<unknown>;
}

/**
 * Tells the operators what has changed since they were last told, and remembers it.
 *
 * The memory is claimed before the first message and changed after it is out, both on the condition that nobody else wrote
 * meanwhile: of two that report at once one sends, and the other waits and finds nothing more to send. What could not be
 * sent is not remembered, so the next report sends it: no message is lost. One is sent twice only when its sender dies or
 * loses the table between sending and writing, stands still in between for longer than its claim lasts, or is told that a
 * message was not sent which was.
 */
export function createReporter({ environment, memories, notify, now, sleep }: Dependencies): Report {
  return async (service, judge, endsAt) => {
    let unsent = 0;
    try {
      while (now() < endsAt) {
        const memory = await memories.read(service);
        const { transitions, quiet } = findTransitions(memory.entries, judge(memory.entries), now());
        const news = affordable(transitions, quiet);
        unsent = transitions.length;
        if (news.length === 0 && isSame(quiet, memory.entries)) return { sent: 0, unsent, failures: [] };

        if (!isHeld(memory, now())) {
          const revision = memory.revision + 1;
          const claim = { entries: memory.entries, revision, heldUntil: now() + CLAIM_MS };
          const isMine = await memories.write(
            service,
            news.length > 0 ? claim : { entries: quiet, revision, heldUntil: 0 },
          );
          if (isMine) {
            const { sent, failures } = await sendAll(service, { ...claim, entries: quiet }, news, endsAt);
            return { sent, unsent: unsent - sent, failures };
          }
        }
        await sleep(POLL_MS);
      }
      return { sent: 0, unsent, failures: ['memory-in-use'] };
    } catch (error) {
      return { sent: 0, unsent, failures: [failureWord(error)] };
    }
  };

  /** The memory is claimed: from here on only its next revisions are written. */
  async function sendAll(
    service: ServiceName | undefined,
    memory: Memory,
    news: readonly Transition[],
    endsAt: number,
  ) {
    const waiting = [...news];
    const failures: string[] = [];
    let { entries, revision } = memory;
    let sent = 0;
    while (waiting.length > 0) {
      const batch = waiting.splice(0, AT_ONCE);
      const outcomes = await Promise.all(batch.map(send));
      const delivered = batch.filter((_, index) => outcomes[index] === undefined);
      failures.push(...outcomes.flatMap((failure) => failure ?? []));
      entries = remember(entries, delivered);
      revision += 1;
      sent += delivered.length;

      // Where nothing gets out, trying on would only cost the run its time.
      if (delivered.length === 0 || now() >= endsAt) waiting.length = 0;
      const failure = await write(service, {
        entries,
        revision,
        heldUntil: waiting.length === 0 ? 0 : now() + CLAIM_MS,
      });
      if (failure === undefined) continue;
      failures.push(failure);
      break;
    }
    return { sent, failures };
  }

  async function send({ observation, before }: Transition): Promise<string | undefined> {
    try {
      await notify(messageOf(environment, observation, before));
      return undefined;
    } catch (error) {
      return failureWord(error);
    }
  }

  async function write(service: ServiceName | undefined, memory: Memory): Promise<string | undefined> {
    try {
      return (await memories.write(service, memory)) ? undefined : 'memory-taken-over';
    } catch (error) {
      return failureWord(error);
    }
  }
}

function failureWord(error: unknown): string {
  if (error instanceof ReportFailure) return error.message;
  throw error;
}

/** A time that no claim can have comes from a clock that is wrong, and must not keep everybody waiting. */
function isHeld({ heldUntil }: Memory, now: number): boolean {
  return heldUntil > now && heldUntil <= now + 2 * CLAIM_MS;
}

function isSame(one: Entries, other: Entries): boolean {
  return one.size === other.size && [...one].every(([key, entry]) => other.get(key) === entry);
}

/** What can be remembered, too: with more than fits into the memory, everything would be told again and again. */
function affordable(transitions: readonly Transition[], { size }: Entries): readonly Transition[] {
  const known = transitions.filter(({ before }) => before !== undefined);
  const fresh = transitions.filter(({ before }) => before === undefined);
  return [...known, ...fresh.slice(0, Math.max(0, MAX_ENTRIES - size))];
}

/** So many fit into an item of the table, whatever the names are. */
const MAX_ENTRIES = 1_500;
const AT_ONCE = 5;
/** Longer than sending a batch and writing can take. */
const CLAIM_MS = 60_000;
const POLL_MS = 1_000;
