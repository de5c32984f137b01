import { invoke, startVariant, type World } from './cold-start.ts';
import type { Environment } from './environment.ts';

/** Invocations of warm environments, in milliseconds, in pairs that ran one after the other. */
export interface Hits {
  readonly broker: readonly number[];
  readonly empty: readonly number[];
  /** Processor time of all threads, the mean of the invocations; `undefined` where the machine does not tell. */
  readonly brokerCpuMs: number | undefined;
  readonly emptyCpuMs: number | undefined;
}

/** Asks a broker that has the token in its memory and an empty function in turn, once both have warmed up. */
export async function measureHits(world: World, count: number): Promise<Hits> {
  const environments = { broker: await startVariant(world, 'broker'), empty: await startVariant(world, 'empty') };
  try {
    // Thrown away: until then the compiler of Node is busy with code that runs often.
    await inTurn(environments, count);
    return await inTurn(environments, count);
  } finally {
    await environments.broker.close();
    await environments.empty.close();
  }
}

async function inTurn(environments: Readonly<Record<'broker' | 'empty', Environment>>, count: number): Promise<Hits> {
  const cpuSpent = [environments.broker, environments.empty].map(cpuMeter);
  const broker: number[] = [];
  const empty: number[] = [];
  for (let n = 0; n < count; n += 1) {
    empty.push(await invoke(environments.empty));
    broker.push(await invoke(environments.broker));
  }
  const [brokerCpuMs, emptyCpuMs] = cpuSpent.map((spentMs) => spentMs() / count);
  return { broker, empty, brokerCpuMs: known(brokerCpuMs), emptyCpuMs: known(emptyCpuMs) };
}

/** Tells what has been spent since; `NaN` where the machine does not tell. */
function cpuMeter({ cpuMs }: Environment): () => number {
  const before = cpuMs() ?? Number.NaN;
  return () => (cpuMs() ?? Number.NaN) - before;
}

function known(value = Number.NaN): number | undefined {
  return Number.isNaN(value) ? undefined : value;
}
