import type { createFleet, Instance } from './fleet.ts';

/** One instance as the model knows it. */
export interface Host {
  readonly instance: Instance;
  readonly skewMs: number;
  isDead: boolean;
  hasJumped: boolean;
}

export type Hosts = ReturnType<typeof createHosts>;

/**
 * The instances of a story, their open calls, and the faults that they met, which may excuse an instance. The
 * model accuses only instances without an excuse.
 */
export function createHosts({ clock, surroundings, createInstance }: ReturnType<typeof createFleet>) {
  /** The living ones, by number; a day has 100 000 dead. */
  const hosts = new Map<number, Host>();
  const storeFailures = new Map<number, number>();
  const openCalls = new Set<{ readonly host: Host; readonly deadline: number }>();
  const accusations: string[] = [];
  let lastTroubleAt = NEVER;
  let hasJumped = false;

  const living = () => [...hosts.values()];
  const hasAnyClockJumped = () => hasJumped;
  const storeFailedAt = (number: number) => storeFailures.get(number) ?? NEVER;

  /** Lambda ends it between two calls. */
  const retire = (host: Host) => {
    host.isDead = true;
    host.instance.kill();
    hosts.delete(host.instance.number);
  };

  return {
    openCalls,
    accusations,
    living,
    /** Without a shared table the instances promise nothing together. */
    accuse(of: string) {
      if (surroundings.isShared) accusations.push(of);
    },
    /** A call of this instance to the store has failed since then. */
    storeFailedAt,
    hasStoreFailed: (number: number, since: number) => storeFailedAt(number) >= since,
    isDead: (number: number) => !hosts.has(number),
    /** A clock of the fleet has been wrong by more than the skew. */
    hasAnyClockJumped,
    at: (index: number): Host | undefined => living()[index % Math.max(1, hosts.size)],
    /** The clock of an instance. */
    nowOf: (number: number): number => hosts.get(number)?.instance.now() ?? clock.now(),

    start(skewMs: number, format = 1): Host {
      const instance = createInstance({ skewMs, format });
      const host = { instance, skewMs, isDead: false, hasJumped: false };
      hosts.set(instance.number, host);
      return host;
    },

    retire,

    kill(host: Host) {
      retire(host);
      lastTroubleAt = clock.now();
      for (const call of openCalls) if (call.host === host) openCalls.delete(call);
    },

    /** A clock is steady within a call. */
    async setClock(host: Host, jumpMs: number) {
      await until(() => [...openCalls].every((call) => call.host !== host));
      host.instance.setClock(host.skewMs + jumpMs);
      host.hasJumped ||= jumpMs !== 0;
      hasJumped ||= host.hasJumped;
    },

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
    isUntroubled: () => lastTroubleAt === NEVER && !hasAnyClockJumped(),

    /** Every fault has ended, and so has every call. */
    isAtRest: () => openCalls.size === 0 && clock.now() - lastTroubleAt > LONGEST_CALL_MS && !hasAnyClockJumped(),
  };

  /** Lets time pass in small pieces until something is so. */
  async function until(isSo: () => boolean): Promise<void> {
    for (let pieces = 0; !isSo(); pieces += 1) {
      if (pieces > 400) throw new Error('calls are left without an answer');
      await clock.advance(100);
    }
  }
}

const NEVER = Number.NEGATIVE_INFINITY;

/** Two instances are at most this far apart. */
export const MAX_SKEW_MS = 4_000;

/** No call lasts longer, nor anything that it has left behind. */
export const LONGEST_CALL_MS = 20_000;
