import { once } from 'node:events';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { simulateDay } from './day.ts';
import { type Outcome, outcomeOf } from './outcome.ts';
import { type Scale, WAYS, type Way } from './world.ts';

/** Simulates all ways, each in a thread of its own. When the signal comes, all end with the outcome of the time so far. */
export function simulateAll(scale: Scale, signal: AbortSignal): Promise<readonly Outcome[]> {
  const simulate = async (way: Way): Promise<Outcome> => {
    const worker = new Worker(new URL(import.meta.url), { workerData: { way, scale }, resourceLimits: HEAP });
    signal.addEventListener('abort', () => worker.postMessage('end'));
    const [outcome] = await once(worker, 'message');
    return outcome;
  };
  return Promise.all(WAYS.map(simulate));
}

/** Most objects of a simulation live for one call: with more room for the young ones the collector runs seldom. */
const HEAP = { maxYoungGenerationSizeMb: 256 };

// In its own thread this file is one simulation, which any message ends.
if (!isMainThread) {
  const { way, scale }: { way: Way; scale: Scale } = workerData;
  let isStopped = false;
  parentPort?.once('message', () => {
    isStopped = true;
  });
  parentPort?.postMessage(outcomeOf(way, scale, await simulateDay(way, scale, () => isStopped)));
  parentPort?.close();
}
