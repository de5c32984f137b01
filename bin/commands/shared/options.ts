import { setTimeout as sleep } from 'node:timers/promises';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { createTokenBroker, type TokenBroker } from '../../../client/index.ts';
import { NAME_PATTERN } from '../../../functions/contract.ts';
import { aborted, isFailure } from './failure.ts';
import { talk } from './output.ts';

/** What every command about clients can be told. */
export interface ClientOptions {
  readonly environment: string;
  readonly region?: string;
  readonly json?: boolean;
}

/** What every command that calls the broker can be told. */
export interface ConnectionOptions {
  readonly url?: string;
  readonly region?: string;
}

/** Adds the options that say where the broker is. */
export function addConnectionOptions(command: Command): Command {
  return command
    .addOption(new Option('--url <url>', "the broker's Function URL").env('TOKEN_BROKER_URL'))
    .option('--region <region>', 'its AWS region (default: as its URL says, else env: AWS_REGION)', parseRegion);
}

/** The broker that the options name; wrong usage when they name none. */
export function connect({ url = '', region }: ConnectionOptions, command: Command): TokenBroker {
  if (url === '') {
    return command.error('error: where is the broker? Give --url or set TOKEN_BROKER_URL to its Function URL');
  }
  try {
    // A person sees the first failure, and every command asks for what is true now.
    return createTokenBroker({ url, region, cache: false, maxAttempts: 1 });
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    return command.error(`error: ${error.message}`);
  }
}

/** Adds the option that says where the secrets and the table are. */
export function addRegionOption(command: Command): Command {
  const text = 'AWS region of the secrets and the table (default: as lib/environments.ts)';
  return command.option('--region <region>', text, parseRegion);
}

/** Adds the options that say where the table of pairs is. */
export function addTableOptions(command: Command): Command {
  const text = "the environment's table of pairs (default: token-broker-<environment>)";
  return addRegionOption(command).addOption(new Option('--table <name>', text).env('TOKEN_BROKER_TABLE'));
}

/** What every command that can be watched can be told. */
export interface WatchOptions {
  readonly environment: string;
  readonly watch?: boolean;
  readonly every: number;
}

/** Adds the options of `WatchOptions`. */
export function addWatchOptions(command: Command): Command {
  const every = new Option('--every <seconds>', 'how long --watch waits').default(60);
  return command
    .option('--watch', 'again and again, until Ctrl-C')
    .addOption(every.argParser(parseWhole('seconds', 1, 3_600)));
}

/**
 * Shows what `look` gives again and again, below a title line, until Ctrl-C. A first look that fails ends the command; after
 * that a failure is told, and the watching goes on.
 */
export async function watch(look: () => Promise<string>, { environment, every }: WatchOptions, signal: AbortSignal) {
  for (let round = 1; ; round += 1) {
    try {
      const shown = await look();
      const title = `${environment}  ${new Date().toISOString()}`;
      process.stdout.write(`${process.stdout.isTTY ? CLEAR : ''}${title}  ${shown}`);
    } catch (error) {
      if (round === 1 || !isFailure(error) || error.type === 'aborted') throw error;
      talk(`error: ${error.message}`);
    }
    await sleep(every * 1_000, undefined, { signal }).catch(() => Promise.reject(aborted()));
  }
}

/** Moves to the top left of the terminal and clears what is below. */
const CLEAR = '\u001b[H\u001b[J';

/** The name of a client, a service or an environment. */
export function parseName(text: string): string {
  if (NAME_PATTERN.test(text)) return text;
  throw new InvalidArgumentError(
    'A name has letters, digits, ".", "_" and "-", at most 63, the first a letter or digit.',
  );
}

/** The services of a client: names with commas between, or `all`. */
export function parseServices(text: string): readonly string[] | 'all' {
  return text === 'all' ? text : [...new Set(text.split(',').map(parseName))];
}

/** An AWS region. */
function parseRegion(text: string): string {
  if (!/^[a-z0-9]+(-[a-z0-9]+)+$/.test(text)) throw new InvalidArgumentError('A region looks like eu-west-1.');
  return text;
}

/** Reads an option that takes a whole number of a unit. */
function parseWhole(unit: string, least: number, most: number): (text: string) => number {
  return (text) => {
    const number = Number(text);
    if (/^\d{1,5}$/.test(text) && number >= least && number <= most) return number;
    throw new InvalidArgumentError(`Give whole ${unit}, ${least} to ${most}.`);
  };
}

export const parseSeconds = parseWhole.bind(undefined, 'seconds');
export const parseDays = parseWhole.bind(undefined, 'days');

/**
 * What `commander` says of wrong usage, without the values that were given: a person may type a secret in a wrong place
 * (`client put acme -p…`, `--services …`), and errors end up in logs.
 */
export function withoutValues(error: string): string {
  return REPEATING.reduce((text, [pattern, silent]) => text.replace(pattern, silent), error);
}

/** Greedy: a value may have quotes and line breaks of its own. */
const REPEATING: readonly (readonly [RegExp, string])[] = [
  [/^(error: unknown option '(?:--[a-z-]+|-[a-z])?).*'/is, "$1'"],
  // A word of small letters is what a person mistypes; a secret has others, too.
  [/^error: unknown command '(?![a-z][a-z-]{0,19}'(?:\n|$)).*'/s, 'error: unknown command'],
  [/^(error: option '[^']+') argument '.*' is invalid/s, '$1 is invalid'],
  [/^(error: option '[^']+') value '.*' from env '(\w+)' is invalid/s, '$1 from $2 is invalid'],
  [/^error: command-argument value '.*' is invalid for argument '([\w-]+)'/s, "error: argument '$1' is invalid"],
];
