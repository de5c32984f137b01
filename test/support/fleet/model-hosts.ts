import type { createFleet, Instance } from './fleet.ts';

/** One instance as the model knows it. */
export interface Host {
  readonly instance: Instance;
  readonly skewMs: number;
  isDead: boolean;
  hasJumped: boolean;
  storeFailedAt: number;
}

export type Hosts = ReturnType<typeof createHosts>;

/**
 * The instances of a story, their open calls, and the faults that they met, which may excuse an instance. The
 * model accuses only instances without an excuse.
 */
export function createHosts({ clock, createInstance }: ReturnType<typeof createFleet>) {
  const hosts: Host[] = [];
  const openCalls = new Set<{ readonly host: Host; readonly deadline: number }>();
  const accusations: string[] = [];
  let lastTroubleAt = NEVER;

  const living = () => hosts.filter(({ isDead }) => !isDead);
  const hasAnyClockJumped = () => hosts.some(({ hasJumped }) => hasJumped);

  return {
    openCalls,
    accusations,
    living,
    accuse: (of: string) => void accusations.push(of),
    /** A call of this instance to the store has failed since then. */
    hasStoreFailed: (number: number, since: number) => (hosts[number]?.storeFailedAt ?? NEVER) >= since,
    isDead: (number: number) => hosts[number]?.isDead ?? true,
    /** A clock of the fleet has been wrong by more than the skew. */
    hasAnyClockJumped,
    at: (index: number): Host | undefined => living()[index % Math.max(1, living().length)],
    /** The clock of an instance, dead or alive. */
    nowOf: (number: number): number => hosts[number]?.instance.now() ?? clock.now(),

    start(skewMs: number) {
      const instance = createInstance({ skewMs });
      hosts.push({ instance, skewMs, isDead: false, hasJumped: false, storeFailedAt: NEVER });
    },

    kill(host: Host) {
      host.isDead = true;
      host.instance.kill();
      lastTroubleAt = clock.now();
      for (const call of openCalls) if (call.host === host) openCalls.delete(call);
    },

    /** A clock is steady within a call. */
    async setClock(host: Host, jumpMs: number) {
      await until(() => [...openCalls].every((call) => call.host !== host));
      host.instance.setClock(host.skewMs + jumpMs);
      host.hasJumped ||= jumpMs !== 0;
    },

    /** Lets time pass until every caller has an answer. */
    settle: () => until(() => openCalls.size === 0),

    noteStoreFailure(number: number) {
      lastTroubleAt = clock.now();
      const host = hosts[number];
      if (host !== undefined) host.storeFailedAt = clock.now();
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
