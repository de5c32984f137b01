import { afterAll, beforeAll, expect, it } from 'vitest';
import type { InstanceAnswer, InstanceProcess } from '../support/processes/instance-process.ts';
import { askAtOnce, type Fleet, startFleet } from './fleet.ts';

/** Slows the story down so that 200 machines fit into any one, even a busy one, see docs/pair.md. */
const SLOWNESS = 10;
/** How long the token service takes, in the time of the instances. */
const SERVICE_MS = 150;
const PROCESSES = 8;
/** In each process: 200 of them in all. */
const INSTANCES = 25;

let fleet: Fleet;
let processes: readonly InstanceProcess[];
beforeAll(async () => {
  fleet = await startFleet({ clients: ['warm-up', 'acme', 'globex', 'initech'], slowness: SLOWNESS });
  processes = Array.from({ length: PROCESSES }, () => fleet.startProcess());
  // Cold is an instance, not the compiler of its process: in Lambda each of them has a machine of its own.
  for (const each of processes) await askAtOnce([each], [0], 'warm-up');
  for (let instance = 1; instance < INSTANCES; instance += 1) {
    await askAtOnce(processes, [instance], 'warm-up');
  }
  fleet.tokenService.behave(undefined, { latencyMs: SERVICE_MS * SLOWNESS });
});
afterAll(() => fleet.close());

it.each([
  { client: 'acme', first: 100 },
  { client: 'globex', first: 200 },
  { client: 'initech', first: 300 },
])('200 cold instances that ask at the same instant make one token request ($client)', async ({ client, first }) => {
  const instances = Array.from({ length: INSTANCES }, (_, index) => first + index);
  const answers = await askAtOnce(processes, instances, client);
  // Measured, not asserted: times on a shared machine are for people.
  process.stdout.write(`${client}: ${describeWaits(answers)} (goal: p99 ${SERVICE_MS + 250} ms)\n`);

  expect(fleet.requestsOf(client)).toBe(1);
  expect(answers.map(({ status }) => status)).toEqual(Array(200).fill(200));
  expect(new Set(answers.map(({ body }) => body.access_token)).size).toBe(1);
});

/** How long callers waited, in one line of the test output. */
function describeWaits(answers: readonly InstanceAnswer[]): string {
  const waits = answers.map(({ waitMs }) => Math.round(waitMs)).sort((a, b) => a - b);
  const quantile = (share: number) => waits[Math.ceil(waits.length * share) - 1];
  return `waits of ${waits.length}: p50 ${quantile(0.5)} ms, p99 ${quantile(0.99)} ms, max ${quantile(1)} ms`;
}
