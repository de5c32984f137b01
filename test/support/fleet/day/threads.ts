import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { Outcome } from './outcome.ts';
import type { Scale, Way } from './world.ts';

export interface Simulation {
  readonly way: Way;
  readonly scale: Scale;
}

/**
 * Runs simulations in their order, two at a time, each in a thread of its own; gives their outcomes in the same order. When the
 * signal comes, running ones end with the outcome of the time so far, and waiting ones are left out.
 */
export async function simulateAll(
  simulations: readonly Simulation[],
  signal: AbortSignal,
  onEnd: (simulation: Simulation) => void,
): Promise<readonly Outcome[]> {
  const outcomes = new Map<Simulation, Outcome>();
  const queue = simulations.values();
  const work = async () => {
    for (const simulation of queue) {
      if (signal.aborted) return;
      const worker = new Worker(new URL('./worker.ts', import.meta.url), {
        workerData: simulation,
        resourceLimits: HEAP,
      });
      signal.addEventListener('abort', () => worker.postMessage('end'));
      const [outcome] = await once(worker, 'message');
      outcomes.set(simulation, outcome);
      onEnd(simulation);
    }
  };
  await Promise.all([work(), work()]);
  return simulations.flatMap((simulation) => outcomes.get(simulation) ?? []);
}

/** Most objects of a simulation live for one call: with more room for the young ones the collector runs seldom. */
const HEAP = { maxYoungGenerationSizeMb: 256 };
