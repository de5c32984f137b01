import { parentPort, workerData } from 'node:worker_threads';
import { HOUR_MS } from '../../example.ts';
import { simulateDay } from './day.ts';
import { outcomeOf } from './outcome.ts';
import type { Job } from './threads.ts';

/** One simulation in a thread of its own. */
const job: Job = workerData;
const { way, scale, stopSignal, progress } = job;

const course = await simulateDay(way, scale, (elapsedMs) => {
  progress[0] = elapsedMs / (scale.hours * HOUR_MS);
  return Atomics.load(stopSignal, 0) === 1;
});
parentPort?.postMessage(outcomeOf(way, scale, course));
