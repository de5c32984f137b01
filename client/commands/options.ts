import { type Command, InvalidArgumentError, Option } from 'commander';
import { NAME_PATTERN } from '../../functions/vocabulary.ts';
import { createTokenBroker, type TokenBroker, type TokenBrokerOptions } from '../index.ts';
import { terminalCommand } from './failure.ts';
import type { Shell } from './shell.ts';

/** The options of every command that calls the broker. */
export interface ConnectionOptions {
  readonly url?: string;
  readonly region?: string;
  readonly json?: boolean;
}

/** The options of a caller's command. Only the operators' command line has environments. */
export interface CallerOptions extends ConnectionOptions {
  readonly environment?: string;
}

/** Adds the options for the broker's address, and `--json`. */
export function addConnectionOptions(command: Command): Command {
  return command
    .option('--json', 'answer in JSON, failures too')
    .addOption(new Option('--url <url>', "the broker's Function URL").env('TOKEN_BROKER_URL'))
    .option('--region <region>', 'its AWS region (default: as its URL says, else env: AWS_REGION)', parseRegion);
}

/** Creates the client for the broker in the options. A missing or invalid address is wrong usage. */
export function connect(
  shell: Shell,
  { url = '', region }: ConnectionOptions,
  command: Command,
  // A person sees the first failure, and every command asks again.
  more: Partial<TokenBrokerOptions> = { credentials: shell.credentials, cache: false, maxAttempts: 1 },
): TokenBroker {
  if (url === '') {
    return command.error(
      `error: where is the broker? Give --url or set TOKEN_BROKER_URL to its Function URL; ${TO_LOCAL}`,
    );
  }
  try {
    return createTokenBroker({ url, region, ...more });
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    return command.error(`error: ${error.message}`);
  }
}

/** Adds the client and the service of a call, as arguments and as options. */
export function addPair(command: Command): Command {
  return command
    .argument('[client]', 'the client to act for', parseName)
    .argument('[service]', 'the service that issues the token', parseName)
    .option('--client <name>', 'the client, in place of the argument', parseName)
    .option('--service <name>', 'the service, in place of the argument', parseName);
}

/** Returns the names of the options, and of the arguments for those that are missing. Too many are wrong usage. */
export function readPair(command: Command): { readonly client?: string; readonly service?: string } {
  const names = command.processedArgs.filter((name) => name !== undefined);
  const { client = names.shift(), service = names.shift() } = command.optsWithGlobals();
  if (names.length > 0) command.error('error: too many arguments');
  return { client, service };
}

/** The hint that leads a plain terminal to the broker of `npm start`. */
export const TO_LOCAL = `for the broker of npm start: ${terminalCommand('operator')}`;

/** Parses the name of a client, a service or an environment. */
export function parseName(text: string): string {
  const rule = 'A name has letters, digits, ".", "_" and "-", at most 63, the first a letter or digit.';
  if (!NAME_PATTERN.test(text)) throw new InvalidArgumentError(rule);
  return text;
}

/** Parses the ARN of a function with its alias. */
export function parseFunctionArn(text: string): string {
  if (/^arn:aws[a-z-]*:lambda:[a-z0-9-]+:\d{12}:function:[\w-]{1,64}:[\w-]{1,128}$/.test(text)) return text;
  throw new InvalidArgumentError('It looks like arn:aws:lambda:<region>:<account>:function:<name>:<alias>.');
}

/** Returns how a person starts the program, for examples in its help. */
export function invocation(program: Command): string {
  return program.name() === 'token-broker' ? 'npm run token-broker --' : `npx --no -- ${program.name()}`;
}

export function parseRegion(text: string): string {
  if (!/^[a-z0-9]+(-[a-z0-9]+)+$/.test(text)) throw new InvalidArgumentError('A region looks like eu-west-1.');
  return text;
}

/** Returns a parser of an option that takes a whole number of a unit. */
export function parseWhole(unit: string, least: number, most: number): (text: string) => number {
  return (text) => {
    const number = Number(text);
    if (/^\d{1,5}$/.test(text) && number >= least && number <= most) return number;
    throw new InvalidArgumentError(`Give whole ${unit}, ${least} to ${most}.`);
  };
}

/** Removes values from `commander`'s message on wrong usage: a person may type a secret in a wrong place. */
export function withoutValues(error: string): string {
  return REPEATING.reduce((text, [pattern, silent]) => text.replace(pattern, silent), error);
}

/** Greedy patterns: a value may contain quotes and line breaks. */
const REPEATING: readonly (readonly [RegExp, string])[] = [
  [/^(error: unknown option '(?:--[a-z-]+|-[a-z])?).*'/is, "$1'"],
  // A mistyped command has only small letters. A secret has other characters, too.
  [/^error: unknown command '(?![a-z][a-z-]{0,19}'(?:\n|$)).*'/s, 'error: unknown command'],
  [/^(error: option '[^']+') argument '.*' is invalid/s, '$1 is invalid'],
  [/^(error: option '[^']+') value '.*' from env '(\w+)' is invalid/s, '$1 from $2 is invalid'],
  [/^error: command-argument value '.*' is invalid for argument '([\w-]+)'/s, "error: argument '$1' is invalid"],
];
