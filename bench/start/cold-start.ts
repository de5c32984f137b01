import { exampleRule } from '../../test/support/example.ts';
import type { Bundles, Variant } from './bundles.ts';
import { EVENT, REGION } from './exchange.ts';
import { type Instance, startInstance } from './instance.ts';
import { type StandIns, TABLES } from './stand-ins.ts';

/** The kinds of start: a bundle, its table, and the source of the token that its first answer must name. */
export const KINDS = {
  empty: { variant: 'empty' },
  broker: { variant: 'broker', says: 'fwd=miss' },
  'table hit': { variant: 'broker', says: 'hit; detail=shared', table: TABLES.keeping },
  calls: { variant: 'calls' },
  sdk: { variant: 'sdk' },
  cdk: { variant: 'cdk' },
} as const satisfies Readonly<Record<string, Kind>>;

export type KindName = keyof typeof KINDS;

interface Kind {
  readonly variant: Variant;
  readonly says?: string;
  readonly table?: string;
}

/** The measurements of a cold start, `undefined` if the machine does not support them. */
export interface ColdStart {
  /** The time from the start of the process to its first poll for an invocation, including the broker's first reads. */
  readonly initMs: number;
  /** The time of the first invocation, which needs a token. */
  readonly firstMs: number;
  /** The processor time of all threads. */
  readonly initCpuMs: number | undefined;
  readonly firstCpuMs: number | undefined;
  /** The time that its threads waited for a processor during the start. */
  readonly waitedMs: number | undefined;
  /** The memory after the first invocation. */
  readonly residentBytes: number | undefined;
}

export interface World {
  readonly bundles: Bundles;
  readonly standIns: StandIns;
}

/** Measures the start of an instance and its first token. */
export async function measureColdStart(world: World, name: KindName): Promise<ColdStart> {
  const { variant, says = '', table }: Kind = KINDS[name];
  const instance = await startVariant(world, variant, table);
  try {
    const before = instance.processorTime();
    const { milliseconds, answer } = await invoke(instance);
    const after = instance.processorTime();
    if (!answer.includes(says)) throw new Error(`An invocation of ${name} was answered otherwise: ${answer}`);
    return {
      initMs: instance.initMs,
      firstMs: milliseconds,
      initCpuMs: before?.used,
      firstCpuMs: before && after && after.used - before.used,
      waitedMs: before?.waited,
      residentBytes: instance.residentBytes(),
    };
  } finally {
    await instance.close();
  }
}

/** Fills the table stand-in with a token that expires after the measurement. */
export async function fillTable(world: World): Promise<void> {
  const instance = await startVariant(world, 'broker', TABLES.keeping);
  await invoke(instance);
  await instance.close();
}

/** Starts an instance of the variant. */
export function startVariant({ bundles, standIns }: World, variant: Variant, table: string = TABLES.empty) {
  return startInstance({
    runtimeClient: bundles.runtimeClient,
    folder: bundles.folders[variant],
    variables: {
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
    },
  });
}

/** Requests the token of the pair. Throws without a token. */
async function invoke(instance: Instance) {
  const { result, milliseconds } = await instance.invoke(EVENT);
  const answer = JSON.stringify(result) ?? '';
  if (!answer.includes('"statusCode":200')) throw new Error(`An invocation gave no token: ${answer}`);
  return { milliseconds, answer };
}
