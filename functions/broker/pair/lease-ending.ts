import type { SecretVersion } from '../credential/secret.ts';
import type { Call } from './call.ts';
import type { PairMemory } from './memory.ts';
import type { PairRecord, Pause } from './record.ts';
import { type PairStore, type Publication, StoreUnavailable, storeUntil } from './store.ts';
import { paused, published, rejected, released } from './transitions.ts';

/** A lease of mine, and the store that it was taken in. */
export interface HeldLease {
  readonly store: PairStore;
  /** The record under it. */
  readonly mine: PairRecord;
}

interface Dependencies {
  readonly memory: PairMemory;
  /** The shared cache; left out, this environment is by itself. */
  readonly store?: PairStore | undefined;
  /** The versions of a client's secret that carry a stage; `undefined` when not every stage could be read. */
  readonly stagedVersions: (call: Call) => Promise<ReadonlySet<string> | undefined>;
  /** From 0 to below 1. */
  readonly random: () => number;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

/** The ways in which a lease ends: each tells the store what came of it, and remembers it. None fails. */
export function createLeaseEnding({ memory, store: shared, stagedVersions, random, now }: Dependencies) {
  return {
    /** For whatever ended without a result. */
    async release(call: Call, { store, mine }: HeldLease): Promise<void> {
      await tell(call, () => storeUntil(store, lastWriteEnd(call)).release(call.pair, mine.fence));
    },

    /** The token is for nobody, but its version has worked. */
    async prove(call: Call, { store, mine }: HeldLease, version: string): Promise<void> {
      await tell(call, () => lastStore(call, { store, mine }).release(call.pair, mine.fence, version));
      memory.remember(call.pair, released(mine, version), mine.attemptedAt);
    },

    async publish(call: Call, { store, mine }: HeldLease, publication: Publication): Promise<void> {
      const isMine = await tell(call, () =>
        lastStore(call, { store, mine }).publish(call.pair, mine.fence, publication),
      );
      if (isMine !== false) memory.remember(call.pair, published(mine, publication), mine.attemptedAt);
    },

    async pause(call: Call, { store, mine }: HeldLease, pause: Pause): Promise<void> {
      const isMine = await tell(call, () => lastStore(call, { store, mine }).pause(call.pair, mine.fence, pause));
      if (isMine !== false) memory.remember(call.pair, paused(mine, pause), mine.attemptedAt);
    },

    async reject(call: Call, { store, mine }: HeldLease, { versionId }: SecretVersion): Promise<void> {
      const goneVersions = await versionsGone(call, mine);
      const request = { version: versionId, at: now(), goneVersions };
      memory.remember(call.pair, rejected(mine, mine.fence, request), mine.attemptedAt);
      await tell(
        call,
        () => lastStore(call, { store, mine }).reject(call.pair, mine.fence, request),
        () => memory.latch(call.pair, versionId),
      );
      // The others must know as well, although this environment went by itself; the fence is one that nobody has.
      if (store === memory && shared !== undefined) {
        const fence = -1 - Math.floor(random() * MAX_FENCE);
        await tell(call, () => storeUntil(shared, lastWriteEnd(call)).reject(call.pair, fence, request));
      }
    },
  };

  /** The latches to forget, once there are many. */
  async function versionsGone(call: Call, { rejected: latches }: PairRecord): Promise<readonly string[]> {
    if (latches.size < MAX_LATCHES) return [];
    const staged = await stagedVersions(call);
    if (staged === undefined) return [];
    const gone = [...latches].filter(([version, { at }]) => !staged.has(version) && now() - at > KEPT_LATCH_MS);
    return gone.map(([version]) => version);
  }

  /** Only a lease that lasts so long has the longer time for its last write, so that all ends half a second before it. */
  function lastStore(call: Call, { store, mine: { leaseUntil } }: HeldLease): PairStore {
    const hasTime = leaseUntil - now() >= LONG_WRITE_RESERVE_MS;
    return storeUntil(hasTime || store === memory ? store : (shared ?? store), lastWriteEnd(call));
  }

  /** A write whose failure changes nothing for this caller; `undefined` when nobody knows whether it has happened. */
  async function tell<Result>(
    call: Call,
    write: () => Promise<Result>,
    otherwise?: () => void,
  ): Promise<Result | undefined> {
    try {
      return await write();
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error;
      call.trace.warnings.add('shared-cache-unavailable');
      otherwise?.();
      return undefined;
    }
  }
}

/** What a token request has brought is told even when it took the last of the call's time. */
function lastWriteEnd({ deadline }: Call): number {
  return deadline + LAST_WRITE_MS;
}

/** Within what `Call.deadline` leaves of the time until the answer must be out. */
const LAST_WRITE_MS = 200;

const LONG_WRITE_RESERVE_MS = 1_500;

const MAX_FENCE = 2 ** 40;

/** Latches of the last hour count as checks of pending versions, whatever has become of the version. */
const KEPT_LATCH_MS = 60 * 60_000;

/** Above this many latches the ones of versions without a stage are forgotten. */
const MAX_LATCHES = 4;
