import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import type { LocalCaller, LocalConfig } from '../lib/settings/local-config.ts';
import { LOCAL_ENVIRONMENT } from '../lib/settings/names.ts';
import { DEFAULT_PORT } from './config.ts';

/** The variables of a terminal that uses this process's broker, as `env` sets them. */
const SHELL_VARIABLES = {
  AWS_ENDPOINT_URL: () => process.env.AWS_ENDPOINT_URL,
  TOKEN_BROKER_CONTROL_URL: ({ pageUrl }) => pageUrl,
  TOKEN_BROKER_URL: ({ url }) => url,
  TOKEN_BROKER_ENVIRONMENT: () => LOCAL_ENVIRONMENT,
  TOKEN_BROKER_SERVICES: ({ config }) => Object.keys(config.services).join(' '),
  TOKEN_BROKER_CLIENT_HEADERS: ({ config }) =>
    Object.entries(config.services)
      .flatMap(([name, { clientHeaders = [] }]) => clientHeaders.map((header) => `${name}:${header}`))
      .join(' '),
  TOKEN_BROKER_AUTH_URLS: ({ config }) =>
    Object.entries(config.services)
      .map(([name, { authUrl }]) => `${name}:${authUrl}`)
      .join(' '),
  AWS_REGION: () => process.env.AWS_REGION,
  // The AWS CLI and Python's SDK only read this name.
  AWS_DEFAULT_REGION: () => process.env.AWS_REGION,
  AWS_USE_DUALSTACK_ENDPOINT: () => process.env.AWS_USE_DUALSTACK_ENDPOINT,
  AWS_USE_FIPS_ENDPOINT: () => process.env.AWS_USE_FIPS_ENDPOINT,
  AWS_ACCESS_KEY_ID: (_, { accessKeyId }) => accessKeyId,
  AWS_SECRET_ACCESS_KEY: (_, { secretAccessKey }) => secretAccessKey,
} as const satisfies Record<string, (broker: Running, caller: LocalCaller) => string | undefined>;

/** Variables that outrank those of a local broker. A terminal of another sign-in may have them. */
export const OUTRANKING = ['SECRETS_MANAGER', 'DYNAMODB', 'CLOUDWATCH_LOGS']
  .map((service) => `AWS_ENDPOINT_URL_${service}`)
  .concat('AWS_PROFILE', 'AWS_SESSION_TOKEN');

export type ShellVariables = Readonly<Partial<Record<keyof typeof SHELL_VARIABLES, string | undefined>>>;

/** A running broker. */
interface Running {
  readonly url: string;
  readonly config: LocalConfig;
  readonly pageUrl: string;
}

/** Returns the variables of a terminal that asks this process's broker as a caller. */
export function shellVariables(broker: Running, caller: LocalCaller): ShellVariables {
  return Object.fromEntries(Object.entries(SHELL_VARIABLES).map(([name, read]) => [name, read(broker, caller)]));
}

/** Returns the callers by the name of their role. The name `operator` stands for a role with the operation `check`. */
export function shellCallers({ callers, accessRules }: LocalConfig): ReadonlyMap<string, LocalCaller> {
  const rule = accessRules.find(({ operations }) => operations.includes('check'));
  const operator = callers.find(({ role }) => role === rule?.role);
  const named = callers.map((caller) => [roleName(caller.role), caller] as const);
  return new Map([...(operator ? [['operator', operator] as const] : []), ...named]);
}

/** Returns the name of a role, without its account and path. */
export function roleName(role: string): string {
  return role.slice(role.lastIndexOf('/') + 1);
}

/** Returns the command that sets the defined variables. */
export function exportLine(variables: ShellVariables): string {
  const settings = Object.entries(variables).flatMap(([name, value]) => (value ? [`${name}=${quote(value)}`] : []));
  return `unset ${OUTRANKING.join(' ')}; export ${settings.join(' ')}`;
}

/** Returns the commands for PowerShell. It takes typographic quotes for quotes, so all of them are doubled. */
export function powershellLines(variables: ShellVariables, removed = OUTRANKING): readonly string[] {
  const settings = [...Object.entries(variables), ...removed.map((name) => [name] as const)];
  // `$null` removes a variable.
  const word = (value?: string) => (value ? `'${value.replaceAll(/['\u2018-\u201b]/g, '$&$&')}'` : '$null');
  return settings.map(([name, value]) => `$env:${name} = ${word(value)}`);
}

/** Returns the commands that unset all variables. */
export function unsetLines(isPowershell = false): readonly string[] {
  const names = Object.keys(SHELL_VARIABLES);
  return isPowershell ? powershellLines({}, names) : [`unset ${names.join(' ')}`];
}

/** Returns the command that sets the variables of a caller for the broker at this URL. */
export function envCommand(url: string, name: string): string {
  const { port } = new URL(url);
  return `eval "$(${port === DEFAULT_PORT ? '' : `PORT=${port} `}npm run --silent token-broker -- env ${name})"`;
}

/** Returns the text as a single word for a POSIX shell, quoted only where necessary. */
export function quote(text: string): string {
  return /^[\w.:/-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

/** The file from which `env` reads the variables of a running broker. */
export interface ShellFile {
  readonly pid: number;
  readonly callers: Readonly<Record<string, ShellVariables>>;
}

/** Returns the path of the file for the broker on a port. */
export function shellFile(port: number | string): URL {
  return new URL(`../node_modules/.cache/token-broker/local-${port}.json`, import.meta.url);
}

/**
 * Writes the variables for `env`, readable only for this user. Returns a function that removes the file. In a
 * read-only checkout only `env` fails.
 */
export function leaveShellFile(broker: Running, onFailure: (what: string, error: unknown) => void): () => void {
  const file = shellFile(new URL(broker.url).port);
  const callers = [...shellCallers(broker.config)].map(([name, key]) => [name, shellVariables(broker, key)]);
  const content = { pid: process.pid, callers: Object.fromEntries(callers) } satisfies ShellFile;
  try {
    rmSync(file, { force: true });
    mkdirSync(new URL('.', file), { recursive: true });
    writeFileSync(file, JSON.stringify(content), { mode: 0o600 });
  } catch (error) {
    onFailure('env has no variables here', error);
    return () => undefined;
  }
  return () => rmSync(file, { force: true });
}
