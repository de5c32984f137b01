import type { IssueRequest } from '../../../functions/broker/pair/decision.ts';
import { START } from '../example.ts';
import { oldToken } from '../pair/pair-examples.ts';
import { seededRandom } from '../seeded-random.ts';
import { type Answer, ask, fleetOf, type Instance } from './fleet.ts';

/** Instances that all miss: the table has a token of this size, which has expired. */
export function missingFleet(count: number, tokenKb: number, changes: Parameters<typeof fleetOf>[1] = {}) {
  const record = { token: { ...oldToken(), expiresAt: START, credentialVersion: 'v0' } };
  const fleet = fleetOf(count, { tokenKb, serviceLatencyMs: 150, record, ...changes });
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

/** What all instances are given, with the changes of a fleet that lead to it. */
export const OUTCOMES = [
  ['a token', {}, undefined],
  ['a rejection', { accepted: new Set<string>() }, 'credential-rejected'],
] as const;

export const typesOf = (answers: readonly Answer[]) => [...new Set(answers.map(({ problem }) => problem?.type))];

/** Of the calls of a slow table, this share takes 200 to 600 ms. */
export const slowTable = (share: number) => {
  const random = seededRandom(1, 'slow table');
  return () => (random() < share ? 200 + 400 * random() : 5);
};

/** Prints how long callers waited. A person reads it in the output of the tests and in docs/scale.md. */
export function report(title: string, answers: readonly Pick<Answer, 'waitMs'>[]): void {
  const waits = answers.map(({ waitMs }) => Math.round(waitMs)).sort((a, b) => a - b);
  const quantile = (share: number) => waits[Math.ceil(waits.length * share) - 1];
  const [p50, p99, max] = [quantile(0.5), quantile(0.99), quantile(1)];
  process.stdout.write(`${title}: waits of ${waits.length}: p50 ${p50} ms, p99 ${p99} ms, max ${max} ms\n`);
}
