import type { PairRecord } from '../../functions/broker/pair/record.ts';
import { StoreUnavailable } from '../../functions/broker/pair/record.ts';
import type { PairStore } from '../../functions/broker/pair/store.ts';
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
      acquire: (...args) => write(sandbox, () => table.acquire(...args)),
      end: (pair, lease, ending, deadline) =>
        write(sandbox, async () => {
          const isMine = await table.end(pair, lease, ending, deadline);
          if (isMine && ending.kind === 'publish') {
            const { token } = ending;
            tally.published += 1;
            tally.untilRefreshMs += token.refreshAt - token.issuedAt;
          }
          return isMine;
        }),
      reject: (...args) => write(sandbox, () => table.reject(...args)),
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
