import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import { aborted, CommandFailure, explainFailure } from '../../../client/commands/failure.ts';
import { parseRegion, TO_LOCAL } from '../../../client/commands/options.ts';
import { talk } from '../../../client/commands/output.ts';
import type { Shell } from '../../../client/commands/shell.ts';
import { NAME_PATTERN } from '../../../functions/contract.ts';
import { environments } from '../../../lib/environments.ts';
import { type Environment, parseEnvironment } from '../../../lib/settings/environment.ts';
import { SettingsError } from '../../../lib/settings/schema.ts';
import { ACCEPTED_CREDENTIALS, LOCAL_ENVIRONMENT } from '../../local/config.ts';

/** Whether it is the environment of `npm start`, which runs on this machine. */
export function isLocal(environment: string): boolean {
  return environment === LOCAL_ENVIRONMENT;
}

/** The settings of an environment in `lib/environments.ts`; `undefined` when it has none. */
export function settingsOf(environment: string): Environment | undefined {
  const form = Object.hasOwn(environments, environment) ? environments[environment] : undefined;
  try {
    return form && parseEnvironment(environment, form);
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    const detail = `lib/environments.ts: ${error.message.replaceAll('\n', ' ')}`;
    throw new CommandFailure(
      'settings-wrong',
      detail,
      'Correct the settings first; npm run cdk -- synth checks them too.',
    );
  }
}

/** As `settingsOf`; wrong usage for `npm start`, which is not deployed. */
export function knownSettings(environment: string, command: Command): Environment {
  const names = Object.keys(environments).join(', ');
  return (
    settingsOf(environment) ??
    command.error(
      `error: "${environment}" is npm start, of which nothing is deployed: name another environment with --environment, one of ${names}`,
    )
  );
}

/** The services that the environment has: as `TOKEN_BROKER_SERVICES` says, else as `lib/environments.ts` says. */
export function configuredServices(shell: Shell, environment: string): readonly string[] {
  const advice = 'Check --environment, or set TOKEN_BROKER_SERVICES to the names of its services with spaces between.';
  const named = (shell.env.TOKEN_BROKER_SERVICES ?? '').split(/\s+/).filter((name) => name !== '');
  if (named.some((name) => !NAME_PATTERN.test(name))) {
    throw new CommandFailure('services-wrong', 'TOKEN_BROKER_SERVICES is not a list of names', advice);
  }
  if (named.length > 0) return named;
  return Object.keys(settingsOf(environment)?.services ?? ACCEPTED_CREDENTIALS);
}

/** Wrong usage when the environment does not have this service. */
export function checkService(shell: Shell, service: string | undefined, environment: string, command: Command): void {
  if (service === undefined) return;
  const configured = configuredServices(shell, environment);
  if (configured.includes(service)) return;
  command.error(`error: "${environment}" has no service "${service}": it has ${configured.join(', ')}`);
}

/** The options of every command. */
export interface CommandOptions {
  readonly environment: string;
  readonly region?: string;
  readonly json?: boolean;
}

/** Where the environment's secrets and table are; `undefined` lets the AWS SDK say. */
export function awsRegion(shell: Shell, { environment, region }: CommandOptions): string | undefined {
  if (region !== undefined) return region;
  return isLocal(environment) ? 'us-east-1' : (settingsOf(environment)?.region ?? shell.env.AWS_REGION);
}

/** A service that has a stand-in in `npm start`. */
export type StandIn = 'SECRETS_MANAGER' | 'DYNAMODB' | 'CLOUDWATCH_LOGS';

type SdkService = 'CLOUDFORMATION' | 'LAMBDA' | 'SNS' | 'STS';

/** For a client of AWS: region, endpoint, credentials. The limits suit a person, who waits longer than a caller. */
export function awsConfig(shell: Shell, options: CommandOptions, service: StandIn | SdkService) {
  const { env, credentials } = shell;
  const [region, endpoint] = [awsRegion(shell, options), env[`AWS_ENDPOINT_URL_${service}`]];
  return {
    ...(region && { region }),
    ...(endpoint && { endpoint }),
    credentials,
    maxAttempts: 5,
    requestHandler: { connectionTimeout: 3_000, requestTimeout: 10_000, throwOnRequestTimeout: true },
  };
}

/**
 * Wrong usage for the environment of `npm start` without a stand-in: the command would change a secret or table in AWS
 * that no environment reads. For any other environment it warns that a stand-in is set.
 */
export function checkEndpoint(shell: Shell, { environment }: CommandOptions, standIn: StandIn, command: Command): void {
  const variable = `AWS_ENDPOINT_URL_${standIn}`;
  const isSet = Boolean(shell.env[variable]);
  if (isSet === isLocal(environment)) return;
  if (isSet) talk(shell, `${variable} is set: this is not the "${environment}" in AWS.`);
  else
    command.error(
      `error: the environment "${LOCAL_ENVIRONMENT}" is on this machine, and ${variable} is not set: name another one with --environment; ${TO_LOCAL}`,
    );
}

/** The options of a command for one client. */
export interface ClientOptions extends CommandOptions {
  readonly client: string;
}

/** Adds where the secrets and the table are, and `--json`. */
export function addAwsOptions(command: Command): Command {
  const text = 'AWS region of the secrets and the table (default: as lib/environments.ts)';
  return command.option('--region <region>', text, parseRegion).option('--json', 'answer in JSON');
}

/** The action of a command: checks its stand-ins of AWS, makes its argument the option `client`, explains failures. */
export function operate<Options extends CommandOptions>(
  shell: Shell,
  standIns: readonly StandIn[],
  work: (options: Options, command: Command) => Promise<void>,
) {
  return async function (this: Command): Promise<void> {
    const options = { ...this.optsWithGlobals<Options & { service?: string }>(), client: this.processedArgs[0] };
    for (const standIn of standIns) checkEndpoint(shell, options, standIn, this);
    await explainFailure(shell, options, async () => {
      checkService(shell, options.service, options.environment, this);
      await work(options, this);
    });
  };
}

/** @throws CommandFailure `aborted` on Ctrl-C */
export function pause({ signal }: Shell, ms: number): Promise<void> {
  return sleep(ms, undefined, { signal }).catch(() => Promise.reject(aborted()));
}
