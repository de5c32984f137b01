import { setTimeout as sleep } from 'node:timers/promises';
import type { defaultProvider } from '@aws-sdk/credential-provider-node';
import type { Command } from 'commander';
import { type About, aborted, explainFailure } from '../../client/commands/failure.ts';
import { parseRegion, TO_LOCAL } from '../../client/commands/options.ts';
import { note, printJson } from '../../client/commands/output.ts';
import { PROXIED, type Shell } from '../../client/commands/shell.ts';
import { LOCAL_ENVIRONMENT } from '../../lib/settings/names.ts';
import { checkService, settingsOf } from './settings.ts';

/** The options of every command. */
export interface CommandOptions {
  readonly environment: string;
  readonly region?: string;
  readonly json?: boolean;
}

/** The options of a command for one client. */
export interface ClientOptions extends CommandOptions {
  readonly client: string;
}

/** Adds `--region`, where the secrets and the table are, and `--json`. */
export function addAwsOptions(command: Command): Command {
  const text = 'AWS region of the secrets and the table (default: as the settings of the broker)';
  return command.option('--region <region>', text, parseRegion).option('--json', 'answer in JSON');
}

/** Lets a command do its work: checks its AWS stand-ins, makes its argument the option `client`, explains failures. */
export function operate<Options extends CommandOptions>(
  command: Command,
  shell: Shell,
  standIns: readonly StandIn[],
  work: (options: Options) => Promise<void>,
): void {
  command.action(async () => {
    const options = { ...command.optsWithGlobals<Options & { service?: string }>(), client: command.processedArgs[0] };
    checkEndpoints(shell, options, standIns, command);
    await explainFailure(shell, options, async () => {
      checkService(shell, options.service, options.environment, command);
      await work(options);
    });
  });
}

/** Writes the answer of a command on stdout: as text, or in JSON with the environment and the client. */
export function answer(
  shell: Shell,
  { environment, client, json }: About & { readonly json?: boolean | undefined },
  members: Readonly<Record<string, unknown>>,
  text: string,
): void {
  if (json) printJson(shell, { environment, client, ...members });
  else shell.stdout.write(text);
}

/** Waits. @throws CommandFailure `aborted` on Ctrl-C */
export function pause({ signal }: Pick<Shell, 'signal'>, ms: number): Promise<void> {
  return sleep(ms, undefined, { signal }).catch(() => Promise.reject(aborted()));
}

/** Returns the region of the environment's secrets and table. `undefined` leaves it to the AWS SDK. */
export function awsRegion(shell: Shell, { environment, region }: CommandOptions): string | undefined {
  if (region !== undefined) return region;
  return environment === LOCAL_ENVIRONMENT ? 'us-east-1' : (settingsOf(environment)?.region ?? shell.env.AWS_REGION);
}

/** A service that has a stand-in in `npm start`. */
type StandIn = 'SECRETS_MANAGER' | 'DYNAMODB' | 'CLOUDWATCH_LOGS';

type SdkService = 'CLOUDFORMATION' | 'CLOUDWATCH' | 'CODEDEPLOY' | 'LAMBDA' | 'SNS' | 'STS';

/** Returns the configuration of an SDK client. Its limits suit a person, who waits longer than a caller. */
export function awsConfig(shell: Shell, options: CommandOptions, service: StandIn | SdkService) {
  const { env } = shell;
  // The client's own types do without those of the SDK.
  const credentials = shell.credentials as ReturnType<typeof defaultProvider>;
  const [region, endpoint] = [awsRegion(shell, options), env[endpointVariable(shell, service)]];
  return {
    ...(region && { region }),
    ...(endpoint && { endpoint }),
    credentials,
    maxAttempts: 5,
    requestHandler: { ...PROXIED, connectionTimeout: 3_000, requestTimeout: 10_000, throwOnRequestTimeout: true },
  };
}

/** Returns the name of the variable that replaces the address of a service. */
function endpointVariable({ env }: Shell, service: StandIn | SdkService): string {
  const own = `AWS_ENDPOINT_URL_${service}`;
  return env[own] ? own : 'AWS_ENDPOINT_URL';
}

/**
 * Fails as wrong usage for the environment of `npm start` without its stand-ins: the command would change what no
 * environment reads in AWS. Warns if a stand-in is set for another environment.
 */
export function checkEndpoints(
  shell: Shell,
  { environment }: CommandOptions,
  standIns: readonly StandIn[],
  command: Command,
): void {
  for (const variable of new Set(standIns.map((standIn) => endpointVariable(shell, standIn)))) {
    const isSet = Boolean(shell.env[variable]);
    if (isSet === (environment === LOCAL_ENVIRONMENT)) continue;
    if (isSet) note(shell, `${variable} is set: this is not the "${environment}" in AWS.`);
    else
      command.error(
        `error: the environment "${LOCAL_ENVIRONMENT}" is on this machine, and ${variable} is not set: name another environment with --environment; ${TO_LOCAL}`,
      );
  }
}
