import { parentPort, workerData } from 'node:worker_threads';
import { simulateDay } from './day.ts';
import { outcomeOf } from './outcome.ts';
import type { Simulation } from './threads.ts';

/** One simulation in a thread of its own; any message ends it. */
const { way, scale }: Simulation = workerData;
let isStopped = false;
parentPort?.once('message', () => {
  isStopped = true;
});
parentPort?.postMessage(outcomeOf(way, scale, await simulateDay(way, scale, () => isStopped)));
parentPort?.close();
