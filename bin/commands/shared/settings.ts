import type { Command } from 'commander';
import { CommandFailure } from '../../../client/commands/failure.ts';
import { TO_LOCAL } from '../../../client/commands/options.ts';
import type { Shell } from '../../../client/commands/shell.ts';
import { NAME_PATTERN } from '../../../functions/vocabulary.ts';
import { environments } from '../../../lib/environments.ts';
import { SettingsError } from '../../../lib/settings/schema.ts';
import { type Environment, parseEnvironment } from '../../../lib/settings/settings.ts';

/** Returns the settings of an environment in `lib/environments.ts`, or `undefined` for an unknown environment. */
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

/** Returns `settingsOf`. The environment of `npm start`, which is not deployed, is wrong usage. */
export function knownSettings(environment: string, command: Command): Environment {
  const names = Object.keys(environments).join(', ');
  return (
    settingsOf(environment) ??
    command.error(
      `error: "${environment}" is npm start, which is not deployed: name another environment with --environment, one of ${names}`,
    )
  );
}

/** Returns the environment's services: from `TOKEN_BROKER_SERVICES`, otherwise from `lib/environments.ts`. */
export function configuredServices(shell: Shell, environment: string): readonly string[] {
  const advice = 'Check --environment, or set TOKEN_BROKER_SERVICES to the names of its services, separated by spaces';
  const named = (shell.env.TOKEN_BROKER_SERVICES ?? '').split(/\s+/).filter((name) => name !== '');
  if (named.some((name) => !NAME_PATTERN.test(name))) {
    throw new CommandFailure('services-wrong', 'TOKEN_BROKER_SERVICES is not a list of names', `${advice}.`);
  }
  if (named.length > 0) return named;
  const settings = settingsOf(environment);
  if (settings === undefined)
    throw new CommandFailure('services-unknown', 'TOKEN_BROKER_SERVICES is not set', `${advice}; ${TO_LOCAL}`);
  return Object.keys(settings.services);
}

/** Fails as wrong usage when the environment does not have this service. */
export function checkService(shell: Shell, service: string | undefined, environment: string, command: Command): void {
  if (service === undefined) return;
  const configured = configuredServices(shell, environment);
  if (configured.includes(service)) return;
  command.error(`error: "${environment}" has no service "${service}": it has ${configured.join(', ')}`);
}
