import type { Pair } from '../../../functions/broker/pair.ts';
import { type createFleet, type Instance, PATIENCE_MS } from './fleet.ts';

/** One instance as the model knows it. */
export interface Host extends Instance {
  readonly skewMs: number;
  readonly calls: Set<OpenCall>;
  isDead: boolean;
  hasJumped: boolean;
}

interface OpenCall {
  /** Of its instance. */
  readonly number: number;
  readonly pair: Pair;
  readonly deadline: number;
  /** The versions that no other call can have sent. */
  readonly sent: string[];
}

export type Hosts = ReturnType<typeof createHosts>;

/**
 * The instances of a story, their open calls, and the faults that they met, which may excuse an instance. The
 * model accuses only instances without an excuse.
 */
export function createHosts({ clock, surroundings, createInstance }: ReturnType<typeof createFleet>) {
  /** The living ones, by number; a day has 100 000 dead. */
  const living = new Map<number, Host>();
  const storeFailures = new Map<number, number>();
  const openCalls = new Set<OpenCall>();
  const accusations: string[] = [];
  let lastTroubleAt = NEVER;
  let hasJumped = false;

  const hosts = {
    accusations,
    living: () => [...living.values()],
    at: (index: number): Host | undefined => hosts.living()[index % Math.max(1, living.size)],
    get: (number: number) => living.get(number),

    /** Without a shared table the instances promise nothing together. */
    accuse(of: string) {
      if (surroundings.isShared) accusations.push(of);
    },

    /** When a call of this instance to the store last failed. */
    storeFailedAt: (number: number) => storeFailures.get(number) ?? NEVER,
    /** Such an instance may go by itself. */
    wasAlone: (number: number, at: number) => hosts.storeFailedAt(number) >= at - LONGEST_CALL_MS,
    /** A clock of the fleet has been wrong by more than the skew. */
    hasAnyClockJumped: () => hasJumped,

    start(skewMs: number, format: number): Host {
      const instance = createInstance({ skewMs, format });
      const host = { ...instance, skewMs, calls: new Set<OpenCall>(), isDead: false, hasJumped: false };
      living.set(host.number, host);
      return host;
    },

    /** Lambda ends it between two calls. */
    retire(host: Host) {
      host.isDead = true;
      host.kill();
      living.delete(host.number);
    },

    kill(host: Host) {
      hosts.retire(host);
      lastTroubleAt = clock.now();
      for (const call of host.calls) openCalls.delete(call);
    },

    /** A clock is steady within a call. */
    async setClock(host: Host, jumpMs: number) {
      await until(() => host.calls.size === 0);
      host.setClock(host.skewMs + jumpMs);
      host.hasJumped ||= jumpMs !== 0;
      hasJumped ||= host.hasJumped;
    },

    /** Follows one call to its end, and accuses an instance that lets its caller wait for too long. */
    async follow<Result>(host: Host, pair: Pair, work: Promise<Result>): Promise<Result> {
      const call = { number: host.number, pair, deadline: clock.now() + PATIENCE_MS + RESERVE_MS, sent: [] };
      host.calls.add(call);
      openCalls.add(call);
      try {
        return await work;
      } finally {
        host.calls.delete(call);
        openCalls.delete(call);
        accuseIfLate(call);
      }
    },

    /** Accuses those that have not answered in time so far. */
    verifyAnswers: () => openCalls.forEach(accuseIfLate),

    /** Lets time pass until every caller has an answer. */
    settle: () => until(() => openCalls.size === 0),

    noteTrouble() {
      lastTroubleAt = clock.now();
    },

    noteStoreFailure(number: number) {
      lastTroubleAt = clock.now();
      storeFailures.set(number, clock.now());
    },

    /** No instance has died in this story, no clock has jumped, and the store has always answered. */
    isUntroubled: () => lastTroubleAt === NEVER && !hasJumped,

    /** Every fault has ended, and so has every call. */
    isAtRest: () => openCalls.size === 0 && clock.now() - lastTroubleAt > LONGEST_CALL_MS && !hasJumped,
  };
  return hosts;

  function accuseIfLate({ number, deadline }: OpenCall): void {
    if (clock.now() > deadline) hosts.accuse(`instance ${number} does not answer in time`);
  }

  /** Lets time pass in small pieces until something is so. */
  async function until(isSo: () => boolean): Promise<void> {
    for (let pieces = 0; !isSo(); pieces += 1) {
      if (pieces > 400) throw new Error('calls are left without an answer');
      await clock.advance(100);
    }
  }
}

const NEVER = Number.NEGATIVE_INFINITY;
const RESERVE_MS = 500;

/** Two instances are at most this far apart. */
export const MAX_SKEW_MS = 4_000;

/** No call lasts longer, nor anything that it has left behind. */
export const LONGEST_CALL_MS = 20_000;
