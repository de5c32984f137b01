import { afterAll, beforeAll, expect, it } from 'vitest';
import type { EnvironmentProcess } from '../support/environment-process.ts';
import { askCold, startProcesses, WARM_UP } from './cold-wave.ts';
import { type Fleet, print, startFleet } from './fleet.ts';

/** Slows the story down so that 200 machines fit into any one, even a busy one, see docs/pair.md. */
const SLOWNESS = 10;

let fleet: Fleet;
let processes: readonly EnvironmentProcess[];
beforeAll(async () => {
  fleet = await startFleet({ clients: [WARM_UP, 'acme', 'globex', 'initech'], slowness: SLOWNESS });
  processes = await startProcesses(fleet, SLOWNESS);
});
afterAll(() => fleet.close());

it.each([
  { client: 'acme', first: 100 },
  { client: 'globex', first: 200 },
  { client: 'initech', first: 300 },
])('200 cold environments that ask at the same instant make one token request ($client)', async (wave) => {
  const { answers, tokenRequests, description } = await askCold(fleet, processes, wave);
  print(description);

  expect(tokenRequests).toBe(1);
  expect(answers.map(({ status }) => status)).toEqual(Array(200).fill(200));
  expect(new Set(answers.map(({ body }) => body.access_token)).size).toBe(1);
});
