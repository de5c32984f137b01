import type { EnvironmentAnswer, EnvironmentProcess } from '../support/environment-process.ts';
import { ask, askAtOnce, describeWaits, type Fleet } from './fleet.ts';

/** How long the token service takes, in the time of the environments, unless told otherwise. */
const SERVICE_MS = 150;

/** Whose token `startProcesses` asks for. */
export const WARM_UP = 'warm-up';

const PROCESSES = 8;

/** In each process: 200 of them in all. */
const ENVIRONMENTS = 25;
const WARM_UPS = 25;

/** Cold is an environment, not the compiler of its process: in Lambda each of them has a machine of its own. */
export async function startProcesses(
  fleet: Fleet,
  slowness: number,
  serviceMs = SERVICE_MS,
): Promise<readonly EnvironmentProcess[]> {
  const processes = Array.from({ length: PROCESSES }, () => fleet.startProcess());
  for (const each of processes) await ask(each, 0, { client: WARM_UP });
  for (let environment = 1; environment < WARM_UPS; environment += 1) {
    await askAtOnce(processes, [environment], WARM_UP);
  }
  fleet.tokenService.latency(serviceMs * slowness);
  return processes;
}

export interface ColdWave {
  readonly answers: readonly EnvironmentAnswer[];
  /** How many the token service was sent. */
  readonly tokenRequests: number;
  /** In one line for people. */
  readonly description: string;
}

/** 200 environments, made for this and numbered from `first` in each process, ask for the client's token at one instant. */
export async function askCold(
  { tokenService }: Fleet,
  processes: readonly EnvironmentProcess[],
  { client, first }: { readonly client: string; readonly first: number },
): Promise<ColdWave> {
  const environments = Array.from({ length: ENVIRONMENTS }, (_, index) => first + index);
  const before = await countCalls(processes);
  const reports = await askAtOnce(processes, environments, client);
  const after = await countCalls(processes);

  const answers = reports.flatMap((report) => report.answers);
  const calls = [...after].map(([name, count]) => `${count - (before.get(name) ?? 0)} ${name}`).join(', ');
  return {
    answers,
    tokenRequests: tokenService.requests.filter((request) => request.client === client).length,
    description: `${client}: ${describeWaits(answers)} (goal: p99 ${SERVICE_MS + 250} ms); ${calls}`,
  };
}

async function countCalls(processes: readonly EnvironmentProcess[]): Promise<ReadonlyMap<string, number>> {
  const totals = new Map<string, number>();
  for (const { calls } of await Promise.all(processes.map(({ order }) => order({})))) {
    for (const [name, count] of Object.entries(calls)) totals.set(name, (totals.get(name) ?? 0) + count);
  }
  return totals;
}
