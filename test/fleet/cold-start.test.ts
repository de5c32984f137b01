import { afterAll, beforeAll, expect, it } from 'vitest';
import { report } from '../support/fleet/load.ts';
import type { InstanceProcess } from '../support/processes/instance-fleet.ts';
import { SERVICE, startInstanceFleet } from '../support/processes/instance-fleet.ts';

/** Slows the story down so that 200 machines fit into any one, even a busy one, see docs/pair.md. */
const SLOWNESS = 10;
/** How long the token service takes, in the time of the instances. */
const SERVICE_MS = 150;
const PROCESSES = 8;
/** In each process: 200 of them in all. */
const INSTANCES = 25;

let fleet: Awaited<ReturnType<typeof startInstanceFleet>>;
beforeAll(async () => {
  fleet = await startInstanceFleet({ clients: ['warm-up', 'acme'], processes: PROCESSES, slowness: SLOWNESS });
  // Cold is an instance, not the compiler of its process: in Lambda each of them has a machine of its own.
  for (const each of fleet.processes) await askAtOnce([each], [0], 'warm-up');
  for (let instance = 1; instance < INSTANCES; instance += 1) await askAtOnce(fleet.processes, [instance], 'warm-up');
  fleet.tokenService.behave(undefined, { latencyMs: SERVICE_MS * SLOWNESS });
});
afterAll(() => fleet.close());

it('200 cold instances that ask at the same instant make one token request', async () => {
  const instances = Array.from({ length: INSTANCES }, (_, index) => 100 + index);
  const answers = await askAtOnce(fleet.processes, instances, 'acme');
  // Measured, not asserted: times on a shared machine are for people.
  report(`200 cold instances (goal: p99 ${SERVICE_MS + 250} ms)`, answers);

  expect(fleet.tokenService.requests.filter((request) => request.client === 'acme')).toHaveLength(1);
  expect(answers.map(({ status }) => status)).toEqual(Array(200).fill(200));
  expect(new Set(answers.map(({ body }) => body.access_token)).size).toBe(1);
});

/** The named instances of every process ask for the client's token at the same instant. */
async function askAtOnce(processes: readonly InstanceProcess[], instances: readonly number[], client: string) {
  const body = { client, service: SERVICE };
  await Promise.all(processes.map(({ order }) => order({ instances })));
  const at = Date.now() + 50;
  const answers = await Promise.all(processes.map(({ order }) => order({ instances, body, at })));
  return answers.flat();
}
