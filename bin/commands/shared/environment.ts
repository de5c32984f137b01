import type { Command } from 'commander';
import { CommandFailure } from '../../../client/commands/failure.ts';
import { talk } from '../../../client/commands/output.ts';
import type { Shell } from '../../../client/commands/shell.ts';
import { NAME_PATTERN } from '../../../functions/contract.ts';
import { environments } from '../../../lib/environments.ts';
import { CREDENTIAL_MAX_AGE_DAYS, type Environment, parseEnvironment } from '../../../lib/settings/environment.ts';
import { SettingsError } from '../../../lib/settings/schema.ts';
import { ACCEPTED_CREDENTIALS, LOCAL_ENVIRONMENT } from '../../local/config.ts';

/** Whether it is the environment of `npm start`, all of which is on this machine. */
export function isLocal(environment: string): boolean {
  return environment === LOCAL_ENVIRONMENT;
}

/** What `lib/environments.ts` says of an environment; `undefined` when it does not name it. */
export function settingsOf(environment: string): Environment | undefined {
  const form = Object.hasOwn(environments, environment) ? environments[environment] : undefined;
  try {
    return form && parseEnvironment(environment, form);
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    throw new CommandFailure(
      'settings-wrong',
      `lib/environments.ts: ${error.message.replaceAll('\n', ' ')}`,
      'Correct the settings first; npm run cdk -- synth checks them too.',
    );
  }
}

/** From which age on a credential is called old. */
export function credentialMaxAgeDays(environment: string): number {
  return settingsOf(environment)?.credentialMaxAgeDays ?? CREDENTIAL_MAX_AGE_DAYS;
}

/** As `settingsOf`; wrong usage when there is no such environment. */
export function knownSettings(environment: string, command: Command): Environment {
  const settings = settingsOf(environment);
  if (settings !== undefined) return settings;
  const names = Object.keys(environments).join(', ');
  return command.error(
    `error: lib/environments.ts has no environment "${environment}": name another one with --environment, one of ${names}`,
  );
}

/** The services that the environment has: as `TOKEN_BROKER_SERVICES` says, else as `lib/environments.ts` says. */
export function configuredServices(shell: Shell, environment: string): readonly string[] {
  const named = (shell.env.TOKEN_BROKER_SERVICES ?? '').split(/\s+/).filter((name) => name !== '');
  if (named.some((name) => !NAME_PATTERN.test(name))) {
    throw new CommandFailure('services-wrong', 'TOKEN_BROKER_SERVICES is not a list of names', SERVICES_ADVICE);
  }
  if (named.length > 0) return named;
  const settings = settingsOf(environment);
  if (settings !== undefined) return Object.keys(settings.services);
  if (isLocal(environment)) return Object.keys(ACCEPTED_CREDENTIALS);
  throw new CommandFailure(
    'services-unknown',
    `lib/environments.ts does not say which services "${environment}" has`,
    SERVICES_ADVICE,
  );
}

/** Wrong usage when the environment has services, as far as is known, and this one is not among them. */
export function checkService(shell: Shell, service: string | undefined, environment: string, command: Command): void {
  if (service === undefined) return;
  const known = settingsOf(environment) !== undefined || isLocal(environment) || shell.env.TOKEN_BROKER_SERVICES;
  const configured = known ? configuredServices(shell, environment) : [service];
  if (configured.includes(service)) return;
  command.error(`error: "${environment}" has no service "${service}": it has ${configured.join(', ')}`);
}

const SERVICES_ADVICE =
  'Check --environment, or set TOKEN_BROKER_SERVICES to the names of its services with spaces between.';

export interface AwsOptions {
  readonly environment: string;
  readonly region?: string | undefined;
}

/** Where the environment's secrets and table are; `undefined` lets the AWS SDK say. */
export function awsRegion(shell: Shell, { environment, region }: AwsOptions): string | undefined {
  if (region !== undefined) return region;
  return isLocal(environment) ? 'us-east-1' : (settingsOf(environment)?.region ?? shell.env.AWS_REGION);
}

/**
 * What a client of AWS is told: the region, the stand-in if one is set, and the credentials of the shell if it has its own.
 * A person waits longer than a caller of the broker, but not for ever.
 */
export function awsConfig(shell: Shell, options: AwsOptions, service: 'SECRETS_MANAGER' | 'DYNAMODB') {
  const { env, credentials } = shell;
  const [region, endpoint] = [awsRegion(shell, options), env[`AWS_ENDPOINT_URL_${service}`]];
  return {
    ...(region && { region }),
    ...(endpoint && { endpoint }),
    ...(credentials && { credentials }),
    maxAttempts: 5,
    requestHandler: { connectionTimeout: 3_000, requestTimeout: 10_000, throwOnRequestTimeout: true },
  };
}

/**
 * Wrong usage for the environment of `npm start` when no stand-in is set: the command would change something in AWS that
 * no environment will ever read. Of any other environment it tells that a stand-in is set.
 */
export function checkEndpoint(
  shell: Shell,
  { environment }: AwsOptions,
  variable: `AWS_ENDPOINT_URL_${'SECRETS_MANAGER' | 'DYNAMODB' | 'CLOUDWATCH_LOGS'}`,
  command: Command,
): void {
  const isSet = Boolean(shell.env[variable]);
  if (isSet && !isLocal(environment)) talk(shell, `${variable} is set: this is not the "${environment}" in AWS.`);
  if (isSet || !isLocal(environment)) return;
  command.error(
    `error: the environment "${LOCAL_ENVIRONMENT}" is on this machine: set ${variable} as npm start prints it, or name another one with --environment`,
  );
}
