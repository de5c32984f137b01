import { parentPort, workerData } from 'node:worker_threads';
import { outcomeOf } from './outcome.ts';
import { simulateWay } from './simulate-way.ts';
import type { Job } from './threads.ts';
import { HOUR_MS } from './world.ts';

/** One simulation in a thread of its own. */
const job: Job = workerData;
const { way, scale, stopSignal, progress } = job;

const course = await simulateWay(way, scale, {
  isStopped(simulatedMs) {
    progress[0] = simulatedMs / (scale.hours * HOUR_MS);
    return Atomics.load(stopSignal, 0) === 1;
  },
});
parentPort?.postMessage(outcomeOf(way, scale, course));
