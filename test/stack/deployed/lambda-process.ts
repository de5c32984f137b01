import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { LambdaAnswer, LambdaOrder } from '../../support/processes/lambda-process-main.ts';
import { startProgram } from '../../support/processes/program.ts';

/** A function of a template, to be deployed to a process of this machine. */
export interface LambdaFunction {
  /** The files of its code asset. */
  readonly asset: Readonly<Record<string, string>>;
  /** Its resource in the template, with all references resolved. */
  readonly properties: Readonly<Record<'FunctionName' | 'Handler', string> & Record<'MemorySize' | 'Timeout', number>>;
  /** Those that the template gives it. */
  readonly variables: Readonly<Record<string, string>>;
  readonly region: string;
  /** The credentials of its role, as Lambda passes them. */
  readonly credentials: Readonly<Record<'accessKeyId' | 'secretAccessKey' | 'sessionToken', string>>;
  /** Where this machine's AWS is: `AWS_ENDPOINT_URL_…`. */
  readonly endpoints: Readonly<Record<string, string>>;
}

/**
 * Starts a function from its code asset alone, where nothing is installed, with the variables of the template, those that
 * Lambda itself sets, and no others. Throws with the output of the process when it does not come up.
 */
export async function startLambda(lambdaFunction: LambdaFunction) {
  const { asset, properties } = lambdaFunction;
  const directory = mkdtempSync(path.join(tmpdir(), 'token-broker-test-'));
  for (const [name, content] of Object.entries(asset)) writeFileSync(path.join(directory, name), content);

  const env = variablesOf(lambdaFunction, directory);
  const { order, written, kill } = startProgram<LambdaOrder, LambdaAnswer>(PROGRAM, [], { cwd: directory, env });
  const stop = async () => {
    await kill();
    rmSync(directory, { recursive: true });
  };
  await order({}).catch(async (error: unknown) => {
    await stop();
    throw error;
  });
  return {
    /** Calls the handler; returns its result or throws its error. */
    invoke: async (event: unknown) => (await order({ event, timeoutMs: properties.Timeout * 1_000 })).result,
    /** The modules of Node that the process has loaded. */
    modules: async () => `${await order({})}`.split(','),
    written,
    stop,
  };
}

/** @see https://docs.aws.amazon.com/lambda/latest/dg/configuration-envvars.html#configuration-envvars-runtime */
function variablesOf(lambdaFunction: LambdaFunction, directory: string): Record<string, string> {
  const { properties, variables, region, credentials, endpoints } = lambdaFunction;
  const declared = Object.entries(variables);
  return {
    // Where Lambda unpacks an asset is not for a test to write to.
    ...Object.fromEntries(declared.map(([name, value]) => [name, value.replace(/^\/var\/task(?=\/)/, directory)])),
    ...endpoints,
    _HANDLER: properties.Handler,
    AWS_ACCESS_KEY_ID: credentials.accessKeyId,
    AWS_SECRET_ACCESS_KEY: credentials.secretAccessKey,
    AWS_SESSION_TOKEN: credentials.sessionToken,
    AWS_REGION: region,
    AWS_DEFAULT_REGION: region,
    AWS_EXECUTION_ENV: 'AWS_Lambda_nodejs24.x',
    AWS_LAMBDA_FUNCTION_NAME: properties.FunctionName,
    AWS_LAMBDA_FUNCTION_MEMORY_SIZE: `${properties.MemorySize}`,
    AWS_LAMBDA_FUNCTION_VERSION: '1',
    AWS_LAMBDA_INITIALIZATION_TYPE: 'on-demand',
    LAMBDA_TASK_ROOT: directory,
    TZ: ':UTC',
    LANG: 'en_US.UTF-8',
    PATH: '/usr/local/bin:/usr/bin:/bin',
  };
}

const PROGRAM = new URL('../../support/processes/lambda-process-main.ts', import.meta.url);
