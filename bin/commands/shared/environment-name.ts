import { InvalidArgumentError } from 'commander';
import { environments } from '../../../lib/environments.ts';
import { LOCAL_ENVIRONMENT } from '../../../lib/settings/names.ts';

/** Rejects unknown environments. A typo would look like an environment without clients. */
export function parseEnvironmentName(text: string): string {
  if (text === LOCAL_ENVIRONMENT || Object.hasOwn(environments, text)) return text;
  const names = Object.keys(environments).join(', ');
  throw new InvalidArgumentError(`lib/environments.ts has ${names}; npm start is ${LOCAL_ENVIRONMENT}.`);
}

/** Returns whether this is the environment of `npm start`, which runs on this machine. */
export function isLocal(environment: string): boolean {
  return environment === LOCAL_ENVIRONMENT;
}
