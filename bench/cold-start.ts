import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { CPU_SHARE, EVENT, REGION } from '../test/support/cold-start/exchange.ts';
import { exampleRule } from '../test/support/example.ts';
import type { LambdaAnswer, LambdaOrder } from '../test/support/processes/lambda-process-main.ts';
import { startProgram } from '../test/support/processes/program.ts';
import { type startStandIns, TABLES } from './stand-ins.ts';

/** The kinds of start: a bundle, its table, and the source of the token that its first answer must name. */
export const KINDS = [
  { name: 'broker', bundle: 'broker', table: TABLES.empty, says: 'fwd=miss' },
  { name: 'table hit', bundle: 'broker', table: TABLES.keeping, says: 'hit; detail=shared' },
  { name: 'calls', bundle: 'calls', table: TABLES.empty, says: '' },
  { name: 'sdk', bundle: 'sdk', table: TABLES.empty, says: '' },
] as const;

type Kind = (typeof KINDS)[number];

export type KindName = Kind['name'];

/** The folder of the bundles, and the servers that they reach. */
export type World = Readonly<{ folder: string; standIns: Awaited<ReturnType<typeof startStandIns>> }>;

export type ColdStart = Awaited<ReturnType<typeof measureColdStart>>;

/**
 * Measures two starts of an instance until its first token: the processor times of all threads, with a whole processor
 * and with the share of one that Lambda allots to an invocation, then the clock with real latencies.
 */
export async function measureColdStart(world: World, kind: Kind) {
  world.standIns.latency.isReal = false;
  const { before, after, residentBytes: memory } = await startOnce(world, kind);
  world.standIns.latency.isReal = true;
  const { waiting } = await startOnce(world, kind);
  const [init, whole] = [before, after].map(({ user, system }) => (user + system) / 1_000) as [number, number];
  return { init, whole, small: init + (whole - init) / CPU_SHARE, waiting, memory };
}

/** Starts an instance in a process, as Lambda does, and ends it after its first answer. */
export async function startOnce({ folder, standIns }: World, { bundle, table, says }: Kind) {
  const startedAt = performance.now();
  const program = pathToFileURL(join(folder, 'instance/index.mjs'));
  const env = {
    _HANDLER: 'index.handler',
    HOME: '/nonexistent',
    AWS_REGION: REGION,
    AWS_ACCESS_KEY_ID: 'ASIAEXAMPLE',
    AWS_SECRET_ACCESS_KEY: 'example',
    AWS_SESSION_TOKEN: 'example',
    AWS_LAMBDA_FUNCTION_NAME: 'token-broker-bench',
    AWS_LAMBDA_FUNCTION_VERSION: '1',
    TOKEN_BROKER_ENVIRONMENT: 'bench',
    TOKEN_BROKER_TABLE: table,
    TOKEN_BROKER_SETTINGS: join(folder, 'settings.json'),
    TOKEN_BROKER_CHECKER_ROLES: exampleRule().role,
    TOKEN_BROKER_PROBE_ROLE: exampleRule().role,
    ...standIns.variables,
  };
  const { order, kill } = startProgram<LambdaOrder, LambdaAnswer>(program, [], { cwd: join(folder, bundle), env });
  try {
    await order({});
    const answer = await order({ event: EVENT, timeoutMs: 15_000 });
    const text = JSON.stringify(answer.result) ?? '';
    const isExpected = text.includes('"statusCode":200') && text.includes(says);
    if (!isExpected) throw new Error(`An invocation of ${bundle} was answered otherwise: ${text}`);
    return { ...answer, waiting: performance.now() - startedAt };
  } finally {
    await kill();
  }
}
