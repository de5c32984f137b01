import { exampleRule } from '../../test/support/example.ts';
import type { Bundles, Variant } from './bundles.ts';
import { EVENT, REGION } from './exchange.ts';
import { type Instance, startInstance } from './instance.ts';
import { type StandIns, TABLES } from './stand-ins.ts';

/** The kinds of start: a bundle with its variables, and the source of the token that its first answer must name. */
export const KINDS = {
  empty: { variant: 'empty' },
  broker: { variant: 'broker', says: 'fwd=miss' },
  'broker, table hit': {
    variant: 'broker',
    says: 'hit; detail=shared',
    variables: { TOKEN_BROKER_TABLE: TABLES.keeping },
  },
  calls: { variant: 'calls' },
  sdk: { variant: 'sdk' },
  'sdk, 3 connections': { variant: 'sdk', variables: { SECRETS_MANAGER_CONNECTIONS: '1' } },
  cdk: { variant: 'cdk' },
  stack: { variant: 'stack' },
} as const satisfies Readonly<Record<string, Kind>>;

export type KindName = keyof typeof KINDS;

interface Kind {
  readonly variant: Variant;
  readonly says?: string;
  readonly variables?: Readonly<Record<string, string>>;
}

/** The measurements of a cold start; `undefined` where the machine has none. */
export interface ColdStart {
  /** From the start of the process until it asks for its first invocation: of the broker with its first reads. */
  readonly initMs: number;
  /** The first invocation, which needs a token. */
  readonly firstMs: number;
  /** Processor time of all threads. */
  readonly initCpuMs: number | undefined;
  readonly firstCpuMs: number | undefined;
  /** How long its threads waited for a processor, until it had started. */
  readonly waitedMs: number | undefined;
  /** After the first invocation. */
  readonly residentBytes: number | undefined;
}

export interface World {
  readonly bundles: Bundles;
  readonly standIns: StandIns;
}

/** Starts an instance and lets it get a token; with `limited`, the invocation has the share of a small function. */
export async function measureColdStart(world: World, name: KindName, limited: boolean): Promise<ColdStart> {
  const { variant, says = '', variables }: Kind = KINDS[name];
  const instance = await startVariant(world, variant, variables);
  try {
    const before = instance.processorTime();
    if (limited) instance.limitCpu();
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

/** Fills the table stand-in with a token that lives longer than any measurement. */
export async function fillTable(world: World): Promise<void> {
  const instance = await startVariant(world, 'broker', KINDS['broker, table hit'].variables);
  await invoke(instance);
  await instance.close();
}

/** Starts an instance of one variant. */
export function startVariant(
  { bundles, standIns }: World,
  variant: Variant,
  variables: Readonly<Record<string, string>> = {},
): Promise<Instance> {
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
      AWS_LAMBDA_FUNCTION_MEMORY_SIZE: '512',
      // As in Lambda: without the first the tracer of `stack` finds itself elsewhere and does nothing.
      AWS_EXECUTION_ENV: 'AWS_Lambda_nodejs24.x',
      AWS_LAMBDA_INITIALIZATION_TYPE: 'on-demand',
      AWS_XRAY_CONTEXT_MISSING: 'LOG_ERROR',
      _X_AMZN_TRACE_ID: TRACE_NOT_SAMPLED,
      TOKEN_BROKER_ENVIRONMENT: 'bench',
      TOKEN_BROKER_TABLE: TABLES.empty,
      TOKEN_BROKER_SETTINGS: bundles.settings,
      TOKEN_BROKER_CHECKER_ROLES: exampleRule().role,
      TOKEN_BROKER_PROBE_ROLE: exampleRule().role,
      TABLE: TABLES.empty,
      AUTH_URL: standIns.authUrl,
      ...standIns.variables,
      ...variables,
    },
  });
}

/** Asks for the token of the one pair; throws when there is none. */
async function invoke(instance: Instance) {
  const { result, milliseconds } = await instance.invoke(EVENT);
  const answer = JSON.stringify(result) ?? '';
  if (!answer.includes('"statusCode":200')) throw new Error(`An invocation gave no token: ${answer}`);
  return { milliseconds, answer };
}

/** Most invocations are: nothing is sent to X-Ray. */
const TRACE_NOT_SAMPLED = 'Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=0';
