import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createCpuLimit } from './cpu-limit.ts';
import { type Invoked, startRuntimeApi } from './runtime-api.ts';

/** One instance of a function, as Lambda would start it: a process with a runtime client and a bundle. */
export interface Instance {
  readonly initMs: number;
  readonly invoke: (event: object) => Promise<Invoked>;
  /** From now on it has only the processor time of a function of 512 MB. */
  readonly limitCpu: () => void;
  readonly processorTime: () => ProcessorTime | undefined;
  readonly residentBytes: () => number | undefined;
  readonly close: () => Promise<void>;
}

/** Of all threads of a process since its start, in milliseconds. */
interface ProcessorTime {
  readonly used: number;
  /** A thread could have gone on, but other threads, of any process, had the processors. */
  readonly waited: number;
}

export interface InstanceOptions {
  readonly runtimeClient: string;
  /** Holds the bundle and takes the function's log: into a file, so that no reader of it competes for a processor. */
  readonly folder: string;
  readonly variables: Readonly<Record<string, string>>;
}

/** Starts an instance and waits until it asks for its first invocation. */
export async function startInstance({ runtimeClient, folder, variables }: InstanceOptions): Promise<Instance> {
  const api = await startRuntimeApi();
  const log = openSync(join(folder, 'function.log'), 'w');
  const env = {
    ...variables,
    LAMBDA_TASK_ROOT: folder,
    AWS_LAMBDA_RUNTIME_API: api.address,
    _HANDLER: 'index.handler',
  };

  const startedAt = performance.now();
  const child = spawn(process.execPath, [runtimeClient], { env, stdio: ['ignore', log, log] });
  const ended = once(child, 'exit').then(([code]) => {
    throw new Error(
      `An instance ended with ${code}: ${readFileSync(join(folder, 'function.log'), 'utf8').slice(-2_000)}`,
    );
  });
  ended.catch(() => undefined);
  const pid = child.pid ?? 0;
  const initMs = (await Promise.race([api.ready, ended])) - startedAt;
  const limits: ReturnType<typeof createCpuLimit>[] = [];

  return {
    initMs,
    invoke: (event) => Promise.race([api.invoke(event), ended]),
    limitCpu() {
      const limit = createCpuLimit();
      limits.push(limit);
      limit.apply(pid);
    },
    processorTime: () => processorTimeOf(pid),
    residentBytes: () => residentBytesOf(pid),
    async close() {
      child.kill('SIGKILL');
      await ended.catch(() => undefined);
      await api.close();
      closeSync(log);
      for (const { remove } of limits) remove();
    },
  };
}

function processorTimeOf(pid: number): ProcessorTime | undefined {
  try {
    const threads = readdirSync(`/proc/${pid}/task`).map((thread) =>
      readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ').map(Number),
    );
    const sum = (column: number) => threads.reduce((total, each) => total + (each[column] ?? Number.NaN), 0) / 1e6;
    return { used: sum(0), waited: sum(1) };
  } catch {
    return undefined;
  }
}

function residentBytesOf(pid: number): number | undefined {
  try {
    const [, kilobytes] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
    return kilobytes === undefined ? undefined : Number(kilobytes) * 1024;
  } catch {
    return undefined;
  }
}
