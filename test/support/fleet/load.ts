import type { IssueRequest } from '../../../functions/broker/pair/decision.ts';
import { ISSUE_REQUEST } from '../broker-world.ts';
import { START } from '../example.ts';
import { oldToken } from '../pair/pair-examples.ts';
import { seededRandom } from '../seeded-random.ts';
import { type Answer, ask, fleetOf, type Instance } from './fleet.ts';

/** Instances that all miss: the table has a token of this size, which has expired. */
export function missingFleet(count: number, tokenKb: number, changes: Parameters<typeof fleetOf>[1] = {}) {
  const fleet = fleetOf(count, { tokenKb, serviceLatencyMs: 150, ...changes });
  const token = { ...oldToken(), expiresAt: START, credentialVersion: 'v0' };
  fleet.shared.change(ISSUE_REQUEST.pair, (empty) => ({ ...empty, token }));
  return {
    ...fleet,
    /** Asks each instance once, at moments that are spread evenly over this time. */
    askWithin: (ms: number, request?: Partial<IssueRequest>): Promise<Answer[]> => {
      const asked = async (instance: Instance, n: number) => {
        await fleet.clock.sleep((n * ms) / count);
        return ask(instance, request);
      };
      return fleet.clock.run(Promise.all(fleet.instances.map(asked)));
    },
  };
}

/** Of the calls of a slow table, this share takes 200 to 600 ms. */
export const slowTable = (share: number) => {
  const random = seededRandom(1, 'slow table');
  return () => (random() < share ? 200 + 400 * random() : 5);
};

/** Says how long callers waited. A person reads it in the output of the tests and in docs/scale.md. */
export function describeWaits(waitsMs: readonly number[]): string {
  const waits = waitsMs.map(Math.round).sort((a, b) => a - b);
  const quantile = (share: number) => waits[Math.ceil(waits.length * share) - 1];
  return `waits of ${waits.length}: p50 ${quantile(0.5)} ms, p99 ${quantile(0.99)} ms, max ${quantile(1)} ms`;
}
