import { type Command, InvalidArgumentError } from 'commander';
import { CommandFailure } from '../../client/commands/failure.ts';
import { TO_LOCAL } from '../../client/commands/options.ts';
import type { Shell } from '../../client/commands/shell.ts';
import { NAME_PATTERN } from '../../functions/vocabulary.ts';
import { LOCAL_ENVIRONMENT } from '../../lib/settings/names.ts';
import { type Environment, parseEnvironment } from '../../lib/settings/settings.ts';
import { explainSettings, readSettings, type SettingsFile } from '../../lib/settings/settings-file.ts';

/** Returns the settings of the broker. @throws CommandFailure for a file that cannot be used */
export function settingsFile(): SettingsFile {
  return explained(readSettings);
}

/** Returns the settings of an environment, or `undefined` for an unknown environment. */
export function settingsOf(environment: string): Environment | undefined {
  const { environments, folder } = settingsFile();
  if (!Object.hasOwn(environments, environment)) return undefined;
  return explained(() => parseEnvironment(environment, environments[environment], folder));
}

/** Rejects unknown environments. A typo would look like an environment without clients. */
export function parseEnvironmentName(text: string): string {
  if (text === LOCAL_ENVIRONMENT) return text;
  const { environments } = settingsFile();
  if (Object.hasOwn(environments, text)) return text;
  const names = Object.keys(environments).join(', ');
  throw new InvalidArgumentError(`The settings of the broker have ${names}; npm start is ${LOCAL_ENVIRONMENT}.`);
}

/** Fails as wrong usage for an unknown environment of the option `--environment`. */
export function checkEnvironment(environment: string, source: string | undefined, command: Command): void {
  try {
    parseEnvironmentName(environment);
  } catch (error) {
    if (!(error instanceof InvalidArgumentError)) throw error;
    const from = source === 'env' ? ' from TOKEN_BROKER_ENVIRONMENT' : '';
    command.error(`error: option '--environment <name>'${from} is invalid. ${error.message}`);
  }
}

const SYNTH = 'Correct the settings first; npm run cdk -- synth checks them too.';

function explained<Settings>(read: () => Settings): Settings {
  try {
    return read();
  } catch (error) {
    const detail = explainSettings(error).replace(':\n', ': ').replaceAll('\n', '; ');
    throw new CommandFailure('settings-wrong', detail, SYNTH);
  }
}

/** Returns `settingsOf`. The environment of `npm start`, which is not deployed, is wrong usage. */
export function knownSettings(environment: string, command: Command): Environment {
  const names = Object.keys(settingsFile().environments).join(', ');
  const wrong = `error: "${environment}" is npm start, which is not deployed: name another environment with --environment`;
  return settingsOf(environment) ?? command.error(`${wrong}, one of ${names}`);
}

/** Returns the environment's services: from the settings, for `npm start` from `TOKEN_BROKER_SERVICES`. */
export function configuredServices(shell: Shell, environment: string): readonly string[] {
  const settings = settingsOf(environment);
  if (settings !== undefined) return Object.keys(settings.services);
  const named = (shell.env.TOKEN_BROKER_SERVICES ?? '').split(/\s+/).filter((name) => name !== '');
  if (named.length > 0 && named.every((name) => NAME_PATTERN.test(name))) return named;
  const detail = 'TOKEN_BROKER_SERVICES is not a list of names';
  throw new CommandFailure('services-unknown', detail, `Check --environment; ${TO_LOCAL}`);
}

/** Fails as wrong usage when the environment does not have this service. */
export function checkService(shell: Shell, service: string | undefined, environment: string, command: Command): void {
  if (service === undefined) return;
  const configured = configuredServices(shell, environment);
  if (configured.includes(service)) return;
  command.error(`error: "${environment}" has no service "${service}": it has ${configured.join(', ')}`);
}

/** Returns the address of a service, which the services of an identity provider share. */
export function addressOf(shell: Shell, environment: string, service: string): string {
  const [local = service] = localWords(shell, 'TOKEN_BROKER_AUTH_URLS', service);
  return settingsOf(environment)?.services[service]?.authUrl ?? local;
}

/** Returns what a variable of `npm start` says about a service. Each word begins with a service and a colon. */
export function localWords({ env }: Shell, variable: string, service: string): readonly string[] {
  const words = (env[variable] ?? '').split(' ').filter((word) => word.startsWith(`${service}:`));
  return words.map((word) => word.slice(service.length + 1));
}
