import { join } from 'node:path';
import { EVENT, REGION } from '../test/support/cold-start/exchange.ts';
import { exampleRule } from '../test/support/example.ts';
import type { Bundles } from './bundles.ts';
import { startInstance } from './instance.ts';
import { type StandIns, TABLES } from './stand-ins.ts';

/** The kinds of start: a bundle, its table, and the source of the token that its first answer must name. */
export const KINDS = {
  broker: { bundle: 'broker', table: TABLES.empty, says: 'fwd=miss' },
  'table hit': { bundle: 'broker', table: TABLES.keeping, says: 'hit; detail=shared' },
  calls: { bundle: 'calls', table: TABLES.empty, says: '' },
  sdk: { bundle: 'sdk', table: TABLES.empty, says: '' },
} as const;

export type KindName = keyof typeof KINDS;

export type World = Readonly<{ bundles: Bundles; standIns: StandIns }>;

export type ColdStart = Awaited<ReturnType<typeof measureColdStart>>;

/** Measures two starts of an instance until its first token: the processor times of all threads, then real latencies. */
export async function measureColdStart(world: World, name: KindName) {
  world.standIns.waitBeforeAnswers(false);
  const { initCpuMs, firstCpuMs, residentBytes } = await startOnce(world, name);
  world.standIns.waitBeforeAnswers(true);
  const { initMs, firstMs } = await startOnce(world, name);
  return { initCpuMs, firstCpuMs, residentBytes, waitingMs: initMs + firstMs };
}

async function startOnce(world: World, name: KindName) {
  const { bundle, says, table } = KINDS[name];
  const instance = await startBundle(world, bundle, table);
  try {
    const { result, ...measured } = await instance.invoke(EVENT);
    const answer = JSON.stringify(result) ?? '';
    const isExpected = answer.includes('"statusCode":200') && answer.includes(says);
    if (!isExpected) throw new Error(`An invocation of ${name} was answered otherwise: ${answer}`);
    return { initMs: instance.initMs, ...measured };
  } finally {
    await instance.close();
  }
}

/** Starts an instance of a bundle. */
export function startBundle({ bundles, standIns }: World, name: string, table: string = TABLES.empty) {
  return startInstance(join(bundles.folder, 'runtime-client/index.mjs'), join(bundles.folder, name), {
    HOME: '/nonexistent',
    AWS_REGION: REGION,
    AWS_ACCESS_KEY_ID: 'ASIAEXAMPLE',
    AWS_SECRET_ACCESS_KEY: 'example',
    AWS_SESSION_TOKEN: 'example',
    AWS_LAMBDA_FUNCTION_NAME: 'token-broker-bench',
    AWS_LAMBDA_FUNCTION_VERSION: '1',
    TOKEN_BROKER_ENVIRONMENT: 'bench',
    TOKEN_BROKER_TABLE: table,
    TOKEN_BROKER_SETTINGS: bundles.settings,
    TOKEN_BROKER_CHECKER_ROLES: exampleRule().role,
    TOKEN_BROKER_PROBE_ROLE: exampleRule().role,
    AUTH_URL: standIns.authUrl,
    ...standIns.variables,
  });
}
