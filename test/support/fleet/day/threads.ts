import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { Outcome } from './outcome.ts';
import type { Scale, Way } from './world.ts';

export interface Simulation {
  readonly way: Way;
  readonly scale: Scale;
}

/** The input of a thread; the arrays are shared memory. */
export interface Job extends Simulation {
  /** 1: come to an end. */
  readonly stopSignal: Int32Array;
  /** The share of the simulated time that is over. */
  readonly progress: Float64Array;
}

interface Options {
  /** Ends running simulations, which then have the outcome of the time so far; waiting ones are dropped. */
  readonly signal: AbortSignal;
  readonly onProgress: (shares: readonly number[]) => void;
}

/** Runs simulations in their order, two at a time; gives their outcomes in the same order. */
export async function simulateAll(
  simulations: readonly Simulation[],
  { signal, onProgress }: Options,
): Promise<readonly (Outcome | undefined)[]> {
  const stopSignal = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  signal.addEventListener('abort', () => Atomics.store(stopSignal, 0, 1));
  const jobs = simulations.map((simulation): Job => {
    const progress = new Float64Array(new SharedArrayBuffer(Float64Array.BYTES_PER_ELEMENT));
    return { ...simulation, stopSignal, progress };
  });

  const timer = setInterval(() => onProgress(jobs.map(({ progress }) => progress[0] ?? 0)), PROGRESS_INTERVAL_MS);
  try {
    const outcomes = new Map<Job, Outcome>();
    const queue = jobs.values();
    const work = async () => {
      for (const job of queue) if (!signal.aborted) outcomes.set(job, await runInThread(job));
    };
    await Promise.all(Array.from({ length: THREADS }, work));
    return jobs.map((job) => outcomes.get(job));
  } finally {
    clearInterval(timer);
  }
}

async function runInThread(job: Job): Promise<Outcome> {
  const worker = new Worker(new URL('./worker.ts', import.meta.url), { workerData: job });
  const [outcome] = await once(worker, 'message');
  job.progress[0] = 1;
  return outcome;
}

const THREADS = 2;
const PROGRESS_INTERVAL_MS = 2_000;
