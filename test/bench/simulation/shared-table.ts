import { type Pair, pairKey } from '../../../functions/broker/pair/pair.ts';
import type { PairRecord } from '../../../functions/broker/pair/record.ts';
import { type PairStore, StoreUnavailable } from '../../../functions/broker/pair/store.ts';
import { createReferencePairStore } from '../../support/reference-pair-store.ts';
import type { Sandbox } from './sandbox.ts';
import type { World } from './world.ts';

export type SharedTable = ReturnType<typeof createSharedTable>;

/** The table that all environments share; to each of them it is half of the latency away. */
export function createSharedTable({ clock, tally, random, scale }: World) {
  const { chance, logNormal } = random('shared table');
  const table = createReferencePairStore();
  const staleUntil = new Map<string, number>();
  const faultShare = scale.calm ? 0 : FAULT_SHARE;

  return {
    latest: (pair: Pair): PairRecord => table.peek(pair),

    storeOf: (sandbox: Sandbox): PairStore => ({
      read(pair, consistency) {
        if (consistency === 'strong') tally.strongReads += 1;
        else tally.eventualReads += 1;
        return call(sandbox, async () => read(pair, consistency));
      },
      acquire: (pair, acquisition) => write(sandbox, pair, () => table.acquire(pair, acquisition)),
      publish: (pair, fence, publication) =>
        write(sandbox, pair, async () => {
          const isPublished = await table.publish(pair, fence, publication);
          if (isPublished) tally.published += 1;
          if (isPublished) tally.untilRefreshMs += publication.token.refreshAt - publication.token.issuedAt;
          return isPublished;
        }),
      pause: (pair, fence, pause) => write(sandbox, pair, () => table.pause(pair, fence, pause)),
      reject: (pair, fence, rejection) => write(sandbox, pair, () => table.reject(pair, fence, rejection)),
      release: (pair, fence) => write(sandbox, pair, () => table.release(pair, fence)),
    }),
  };

  function write<Result>(sandbox: Sandbox, pair: Pair, change: () => Promise<Result>): Promise<Result> {
    tally.writes += 1;
    return call(sandbox, () => {
      const { latest } = table.peek(pair);
      const result = change();
      if (table.peek(pair) !== latest) staleUntil.set(pairKey(pair), clock.now() + REPLICATION_MS);
      return result;
    });
  }

  /** One of the three copies of an item may miss its last write for a moment. */
  function read(pair: Pair, consistency: 'eventual' | 'strong'): PairRecord {
    const { latest, before } = table.peek(pair);
    const mayBeStale = consistency === 'eventual' && clock.now() < (staleUntil.get(pairKey(pair)) ?? 0);
    return mayBeStale && chance(1 / 3) ? before : latest;
  }

  function call<Result>(sandbox: Sandbox, operation: () => Promise<Result>): Promise<Result> {
    const isFault = chance(faultShare);
    // Nobody knows whether an operation that was given up has happened.
    const happens = !isFault || chance(0.5);
    const latencyMs = isFault ? BUDGET_MS : logNormal(LATENCY_MS, LATENCY_SPREAD);
    return new Promise((resolve, reject) => {
      clock.after(latencyMs / 2, () => {
        const result = happens ? operation() : undefined;
        sandbox.after(latencyMs / 2, () => {
          if (isFault || result === undefined) reject(new StoreUnavailable('no answer in time'));
          else resolve(result);
        });
      });
    });
  }
}

const LATENCY_MS = 5;
const LATENCY_SPREAD = 0.4;
const REPLICATION_MS = 50;

/** DynamoDB promises 99.99 % (https://aws.amazon.com/dynamodb/sla, read on 2026-11-21). */
const FAULT_SHARE = 1e-4;
/** How long the adapter waits on an open connection. */
const BUDGET_MS = 150;
