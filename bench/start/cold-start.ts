import { assumedRoleIdentity, functionUrlEvent } from '../../bin/local/function-url/event.ts';
import { exampleRule } from '../../test/support/example.ts';
import { type Bundles, PAIR, type Variant } from './bundles.ts';
import { type Environment, startEnvironment } from './environment.ts';
import type { StandIns } from './stand-ins.ts';

/** What is measured of a cold start; `undefined` where the machine does not tell. */
export interface ColdStart {
  /** From the start of the process until it asks for its first invocation. */
  readonly initMs: number;
  readonly initCpuMs: number | undefined;
  /** The first invocation, which needs a token. */
  readonly firstMs: number;
  readonly firstCpuMs: number | undefined;
  /** After the first invocation. */
  readonly residentBytes: number | undefined;
}

export interface World {
  readonly bundles: Bundles;
  readonly standIns: StandIns;
  /** Programs that can run a function: the runtime client of this project, or another one. */
  readonly command: readonly string[];
}

/** Starts an environment and lets it get a token; with `limited`, the invocation has the share of a small function. */
export async function measureColdStart(world: World, variant: Variant, limited: boolean): Promise<ColdStart> {
  const environment = await startVariant(world, variant);
  try {
    if (limited) environment.limitCpu();
    const cpuBefore = environment.cpuMs();
    const firstMs = await invoke(environment);
    const cpuAfter = environment.cpuMs();
    return {
      initMs: environment.initMs,
      initCpuMs: environment.initCpuMs,
      firstMs,
      firstCpuMs: cpuBefore === undefined || cpuAfter === undefined ? undefined : cpuAfter - cpuBefore,
      residentBytes: environment.residentBytes(),
    };
  } finally {
    await environment.close();
  }
}

/** The start alone, without credentials: the broker's first reads then end before anything is sent or rehearsed. */
export async function measureInitWithoutReads(world: World): Promise<Pick<ColdStart, 'initMs' | 'initCpuMs'>> {
  const environment = await startVariant(world, 'broker', { AWS_ACCESS_KEY_ID: '', AWS_SECRET_ACCESS_KEY: '' });
  await environment.close();
  return { initMs: environment.initMs, initCpuMs: environment.initCpuMs };
}

/** Starts an environment of one variant. */
export function startVariant(
  { bundles, standIns, command }: World,
  variant: Variant,
  variables: Readonly<Record<string, string>> = {},
): Promise<Environment> {
  return startEnvironment({
    command,
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
      TOKEN_BROKER_TABLE: TABLE,
      TOKEN_BROKER_SETTINGS: bundles.settings,
      TOKEN_BROKER_CHECKER_ROLES: exampleRule().role,
      TABLE,
      AUTH_URL: standIns.authUrl,
      ...standIns.variables,
      ...variables,
    },
  });
}

/** Asks for the token of the one pair; throws when there is none. */
export async function invoke(environment: Environment): Promise<number> {
  const { result, milliseconds } = await environment.invoke(EVENT);
  if (typeof result !== 'object' || result === null || !('statusCode' in result) || result.statusCode !== 200) {
    throw new Error(`An invocation gave no token: ${JSON.stringify(result)}`);
  }
  return milliseconds;
}

const REGION = 'eu-west-1';
/** Most invocations are: nothing is sent to X-Ray. */
const TRACE_NOT_SAMPLED = 'Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=0';
const TABLE = 'pairs';

export const EVENT = functionUrlEvent(
  {
    method: 'POST',
    path: '/token',
    query: '',
    headers: [
      ['content-type', 'application/json'],
      ['x-amz-security-token', 'example'],
    ],
    body: Buffer.from(JSON.stringify(PAIR)),
  },
  assumedRoleIdentity(exampleRule().role, 'ASIAEXAMPLE'),
  { requestId: '22222222-3333-4444-8555-666666666666', region: REGION, receivedAt: Date.UTC(2026, 0, 1) },
);
