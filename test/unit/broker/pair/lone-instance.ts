import { expect } from 'vitest';
import type { PairRecord } from '../../../../functions/broker/pair/record.ts';
import type { PairStore } from '../../../../functions/broker/pair/store.ts';
import { START } from '../../../support/example.ts';
import { AT_ONCE, fleetOf, nameOf } from '../../../support/fleet/fleet.ts';
import type { StoreFault } from '../../../support/fleet/surroundings.ts';

export type Changes = NonNullable<Parameters<typeof fleetOf>[1]>;

/** One instance without any latency, a table with this record, and what callers are given: a token's fingerprint or a problem. */
export function startInstance(record: Partial<PairRecord> = {}, changes: Changes = {}) {
  const fleet = fleetOf(1, { ...AT_ONCE, random: () => 0, record, ...changes });
  const { clock, requests, surroundings } = fleet;
  const [instance = expect.fail()] = fleet.instances;
  return {
    ...fleet,
    instance,
    give: async (...asked: Parameters<typeof fleet.askOne>) => nameOf(await fleet.askOne(...asked)),
    passed: () => clock.now() - START,
    versions: () => requests.map(({ version }) => version),
    warnings: () => [...(instance.traces.at(-1)?.warnings ?? [])],
    /** Has the n-th read or write of the table (from 1) fail. */
    failOn(operation: keyof PairStore, faultOf: (n: number) => StoreFault | false) {
      let n = 0;
      surroundings.storeFault = (which) => (which === operation && faultOf(++n)) || undefined;
    },
    /** The first write arrives unanswered, and the table throttles all calls until this much time has passed. */
    loseLease(untilMs: number) {
      surroundings.storeFault = (operation) => {
        if (clock.now() === START) return operation === 'replace' ? 'answer-lost' : undefined;
        return clock.now() - START < untilMs ? 'busy' : undefined;
      };
    },
  };
}
