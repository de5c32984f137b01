import type { PairRecord } from '../../functions/broker/pair/record.ts';
import { type PairStore, StoreUnavailable } from '../../functions/broker/pair/store.ts';
import type { Pair } from '../../functions/broker/pair.ts';
import { createReferencePairStore } from '../../test/support/pair/reference-pair-store.ts';
import type { Sandbox } from './sandbox.ts';
import type { World } from './world.ts';

export type SharedTable = ReturnType<typeof createSharedTable>;

/** The table that all instances share; to each of them it is half of the latency away. */
export function createSharedTable({ clock, tally, random, scale }: World) {
  const { chance, logNormal } = random('shared table');
  const table = createReferencePairStore();
  const faultShare = scale.calm ? 0 : FAULT_SHARE;

  return {
    latest: (pair: Pair): PairRecord => table.peek(pair),

    storeOf: (sandbox: Sandbox): PairStore => ({
      read(...args) {
        tally.reads += 1;
        return call(sandbox, () => table.read(...args));
      },
      async replace(pair, seen, next, deadline) {
        const written = await write(sandbox, () => table.replace(pair, seen, next, deadline));
        if (written !== undefined && next.token?.accessToken && next.token !== seen.record.token) {
          tally.published += 1;
          tally.untilRefreshMs += next.token.refreshAt - next.token.issuedAt;
        }
        return written;
      },
    }),
  };

  function write<Result>(sandbox: Sandbox, change: () => Promise<Result>): Promise<Result> {
    tally.writes += 1;
    return call(sandbox, change);
  }

  function call<Result>(sandbox: Sandbox, operation: () => Promise<Result>): Promise<Result> {
    const isFault = chance(faultShare);
    // It is not known whether an operation that was given up has happened.
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

/** DynamoDB promises 99.99 % (https://aws.amazon.com/dynamodb/sla, read on 2026-11-21). */
const FAULT_SHARE = 1e-4;
/** How long the adapter waits on an open connection. */
const BUDGET_MS = 150;
