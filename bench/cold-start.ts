import { EVENT, REGION } from '../test/support/cold-start/exchange.ts';
import { startInstance } from '../test/support/cold-start/instance.ts';
import { type StandIns, TABLES } from '../test/support/cold-start/stand-ins.ts';
import { exampleRule } from '../test/support/example.ts';
import type { Bundles, Variant } from './bundles.ts';

/** The kinds of start: a bundle, its table, and the source of the token that its first answer must name. */
export const KINDS = {
  broker: { variant: 'broker', table: TABLES.empty, says: 'fwd=miss' },
  'table hit': { variant: 'broker', table: TABLES.keeping, says: 'hit; detail=shared' },
  calls: { variant: 'calls', table: TABLES.empty, says: '' },
  sdk: { variant: 'sdk', table: TABLES.empty, says: '' },
} as const;

export type KindName = keyof typeof KINDS;

export type World = Readonly<{ bundles: Bundles; standIns: StandIns }>;

export type ColdStart = Awaited<ReturnType<typeof measureColdStart>>;

/** Measures the start of an instance and its first token. Processor times are those of all its threads. */
export async function measureColdStart(world: World, name: KindName) {
  const { variant, says, table } = KINDS[name];
  const instance = await startVariant(world, variant, table);
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

/** Fills the table stand-in with a token that expires after the measurement. */
export async function fillTable(world: World): Promise<void> {
  const instance = await startVariant(world, 'broker', TABLES.keeping);
  await instance.invoke(EVENT);
  await instance.close();
}

/** Starts an instance of the variant. */
export function startVariant({ bundles, standIns }: World, variant: Variant, table: string = TABLES.empty) {
  return startInstance(bundles.runtimeClient, bundles.folders[variant], {
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
    TABLE: table,
    AUTH_URL: standIns.authUrl,
    ...standIns.variables,
  });
}
