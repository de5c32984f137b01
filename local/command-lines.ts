import type { About } from '../client/commands/failure.ts';
import type { CallForm, Entry } from './page/messages.ts';
import { envCommand, quote } from './shell.ts';

/** Returns a shell command that runs the command line as a caller, without changing the variables of the terminal. */
export function commandLine(url: string, caller: string, command: string): string {
  return inShell(url, caller, `npm run --silent token-broker -- ${command}`);
}

function inShell(url: string, caller: string, command: string): string {
  return `(${envCommand(url, caller)}\n${command})`;
}

/** Returns the commands that a text names in backticks. They run as the operator, but `whoami` as the caller. */
export function commandsIn(text: string, url: string, named: Named): readonly Entry[] {
  const { client, service, environment, caller } = named;
  const places = Object.entries({ client, environment, names: service });
  const fill = (command: string) =>
    places.reduce((filled, [name, value]) => filled.replaceAll(`<${name}>`, quote(value ?? `<${name}>`)), command);
  return [...text.matchAll(/`((?:client|doctor|whoami)\b[^`]*)`/g)].map(([, command = '']) => {
    const name = fill(command);
    return { name, text: commandLine(url, (name === 'whoami' && caller) || 'operator', name) };
  });
}

interface Named extends About {
  readonly service?: string | undefined;
  readonly caller?: string;
}

/** Returns commands that repeat a call as the same caller. They read its keys from `env`, so the page never does. */
export function sameCall(url: string, caller: string, { operation, client = '', service = '', ...form }: CallForm) {
  const { min_ttl, refused } = form;
  const pair = operation === 'whoami' ? undefined : { client, service };
  const curl = [
    'curl --aws-sigv4 aws:amz:us-east-1:lambda --user "$AWS_ACCESS_KEY_ID:$AWS_SECRET_ACCESS_KEY"',
    `-H 'content-type: application/json' -d ${quote(JSON.stringify({ ...pair, min_ttl, refused }))}`,
    `${url}/${operation}`,
  ].join(' \\\n  ');
  const options = [
    min_ttl === undefined ? '' : ` --min-ttl ${min_ttl}`,
    refused === undefined ? '' : ` --refused ${quote(refused)}`,
  ].join('');
  const command = {
    token: `token ${quote(client)} ${quote(service)}${options}`,
    check: `client check ${quote(client)} --service ${quote(service)}`,
    whoami: 'whoami',
  }[operation];
  return [
    { name: 'curl', text: inShell(url, caller, curl) },
    { name: 'command line', text: commandLine(url, caller, command) },
  ] satisfies readonly Entry[];
}
