import type { Pair } from '../../../functions/broker/pair.ts';
import type { createFleet, Instance } from './fleet.ts';

interface OpenCall {
  /** The number of its instance. */
  readonly from: number;
  readonly pair: Pair;
  readonly deadline: number;
  /** The versions that no other call can have sent. */
  readonly sent: string[];
  /** For each of its requests: whether the table does not know that it was rejected. */
  readonly isKept: (() => boolean)[];
}

export type Hosts = ReturnType<typeof createHosts>;

/**
 * The instances of a story, their open calls, and when their calls to the store failed: an instance that cannot look cannot
 * know what changed. No fault of the store excuses a token request.
 */
export function createHosts({ clock, surroundings, createInstance }: ReturnType<typeof createFleet>) {
  /** By number; a day has 100 000 dead. */
  const living = new Map<number, Instance>();
  const openCalls = new Set<OpenCall>();
  const failures = new Map<number, number>();
  const accusations: string[] = [];
  let lastTroubleAt = NEVER;

  const hosts = {
    accusations,
    living: () => [...living.values()],
    at: (index: number): Instance | undefined => hosts.living()[index % Math.max(1, living.size)],
    /** How far ahead the clock of an instance is. One that has ended may have had any clock. */
    skewOf: (number: number) => living.get(number)?.state.skewMs ?? MAX_SKEW_MS,

    /** Notes each of these complaints that is true. Without a shared table the instances promise nothing together. */
    judge(who: string, complaints: Readonly<Record<string, boolean | undefined>>) {
      for (const what in complaints) if (complaints[what] && surroundings.isShared) accusations.push(`${who} ${what}`);
    },

    /** When a call of this instance to the store last failed, or it died. */
    failedAt: (number: number) => failures.get(number) ?? NEVER,

    start(skewMs: number, format = 1): Instance {
      const host = createInstance({ skewMs, format });
      living.set(host.number, host);
      return host;
    },

    /** Lambda ends it between two calls. */
    retire(host: Instance) {
      host.kill();
      living.delete(host.number);
    },

    kill(host: Instance) {
      hosts.retire(host);
      hosts.noteTrouble(host.number);
      for (const call of callsOf(host.number)) openCalls.delete(call);
    },

    /** Follows one call to its end, and accuses an instance that lets its caller wait for too long. */
    async follow<Result>({ number: from }: Instance, pair: Pair, work: Promise<Result>): Promise<Result> {
      const call: OpenCall = { from, pair, deadline: clock.now() + INVOCATION_MS, sent: [], isKept: [] };
      openCalls.add(call);
      try {
        return await work;
      } finally {
        openCalls.delete(call);
        accuseIfLate(call);
        // A write that is repeated to the end of its call fails at least once in a second.
        const isFailing = clock.now() - hosts.failedAt(from) < 1_000;
        const kept = !isFailing && call.isKept.some((is) => is());
        hosts.judge(`instance ${from}`, { 'kept a rejection from the table': kept });
      }
    },

    callsOf,

    /** Accuses those that have not answered in time so far. */
    verifyAnswers: () => openCalls.forEach(accuseIfLate),

    /** Lets time pass until every caller has an answer. */
    async settle(): Promise<void> {
      const limit = clock.now() + LONGEST_CALL_MS;
      await clock.settle(() => openCalls.size === 0 || clock.now() > limit);
      if (openCalls.size > 0) throw new Error('calls are left without an answer');
    },

    /** Something went wrong; for one instance, if its number is given. */
    noteTrouble(number?: number) {
      lastTroubleAt = clock.now();
      if (number !== undefined) failures.set(number, lastTroubleAt);
    },

    /** Every fault has ended, and so has every call. */
    isAtRest: () => openCalls.size === 0 && clock.now() - lastTroubleAt > LONGEST_CALL_MS,
  };
  surroundings.onStoreFailure = hosts.noteTrouble;
  return hosts;

  function callsOf(number: number): OpenCall[] {
    return [...openCalls].filter(({ from }) => from === number);
  }

  function accuseIfLate({ from, deadline }: OpenCall): void {
    hosts.judge(`instance ${from}`, { 'does not answer in time': clock.now() > deadline });
  }
}

const NEVER = Number.NEGATIVE_INFINITY;
/** The longest that a function may run. */
const INVOCATION_MS = 15_000;

/** Two instances are at most this far apart. */
export const MAX_SKEW_MS = 4_000;

/** No call lasts longer, nor anything that it has left behind. */
export const LONGEST_CALL_MS = 20_000;
