import { setTimeout as sleep } from 'node:timers/promises';
import { type Command, Option } from 'commander';
import { aborted, isFailure } from '../../../client/commands/failure.ts';
import { parseName, parseRegion, parseWhole } from '../../../client/commands/options.ts';
import { talk } from '../../../client/commands/output.ts';
import type { Shell } from '../../../client/commands/shell.ts';

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
export async function watch(shell: Shell, look: () => Promise<string>, { environment, every }: WatchOptions) {
  for (let round = 1; ; round += 1) {
    try {
      const shown = await look();
      const title = `${environment}  ${new Date().toISOString()}`;
      shell.stdout.write(`${shell.stdout.isTTY ? CLEAR : ''}${title}  ${shown}`);
    } catch (error) {
      if (round === 1 || !isFailure(error) || error.type === 'aborted') throw error;
      talk(shell, `error: ${error.message}`);
    }
    await sleep(every * 1_000, undefined, { signal: shell.signal }).catch(() => Promise.reject(aborted()));
  }
}

/** Moves to the top left of the terminal and clears what is below. */
const CLEAR = '\u001b[H\u001b[J';

/** The services of a client: names with commas between, or `all`. */
export function parseServices(text: string): readonly string[] | 'all' {
  return text === 'all' ? text : [...new Set(text.split(',').map(parseName))];
}
