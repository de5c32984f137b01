import { afterAll, beforeAll, expect, it } from 'vitest';
import type { EnvironmentProcess } from '../support/environment-process.ts';
import { ask, askAtOnce, describeWaits, type Fleet, print, startFleet } from './fleet.ts';

const PROCESSES = 8;
const ENVIRONMENTS = 25;
const SERVICE_MS = 150;
const WARM_UPS = 25;
/** At 1, in real time, 200 machines are to fit into this one: then the count often fails, see docs/pair.md. */
const SLOWNESS = Number(process.env.FLEET_SLOWNESS ?? 10);

let fleet: Fleet;
let processes: readonly EnvironmentProcess[];
beforeAll(async () => {
  fleet = await startFleet({ clients: ['warm-up', 'acme', 'globex', 'initech'], slowness: SLOWNESS });
  processes = Array.from({ length: PROCESSES }, () => fleet.startProcess());
  // Cold is an environment, not the compiler of its process: in Lambda each of them has a machine of its own.
  for (const each of processes) await ask(each, 0, { client: 'warm-up' });
  for (let environment = 1; environment < WARM_UPS; environment += 1) {
    await askAtOnce(processes, [environment], 'warm-up');
  }
  fleet.tokenService.latency(SERVICE_MS * SLOWNESS);
});
afterAll(() => fleet.close());

it.each([
  ['acme', 100],
  ['globex', 200],
  ['initech', 300],
])('200 cold environments that ask at the same instant make one token request (%s)', async (client, first) => {
  const environments = Array.from({ length: ENVIRONMENTS }, (_, index) => first + index);
  const before = await countCalls();
  const reports = await askAtOnce(processes, environments, client);
  const after = await countCalls();

  const answers = reports.flatMap((report) => report.answers);
  const calls = [...after].map(([name, count]) => `${count - (before.get(name) ?? 0)} ${name}`).join(', ');
  print(`${client}: ${describeWaits(answers)} (goal: p99 ${SERVICE_MS + 250} ms); ${calls}`);

  expect(fleet.tokenService.requests.filter((request) => request.client === client)).toHaveLength(1);
  expect(answers.map(({ status }) => status)).toEqual(Array(PROCESSES * ENVIRONMENTS).fill(200));
  expect(new Set(answers.map(({ body }) => body.access_token)).size).toBe(1);
});

async function countCalls(): Promise<ReadonlyMap<string, number>> {
  const totals = new Map<string, number>();
  for (const { calls } of await Promise.all(processes.map(({ order }) => order({})))) {
    for (const [name, count] of Object.entries(calls)) totals.set(name, (totals.get(name) ?? 0) + count);
  }
  return totals;
}
