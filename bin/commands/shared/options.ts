import { type Command, Option } from 'commander';
import { parseName, parseRegion } from '../../../client/commands/options.ts';

/** What every command about clients can be told. */
export interface ClientOptions {
  readonly environment: string;
  readonly region?: string;
  readonly json?: boolean;
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

/** The services of a client: names with commas between, or `all`. */
export function parseServices(text: string): readonly string[] | 'all' {
  return text === 'all' ? text : [...new Set(text.split(',').map(parseName))];
}
