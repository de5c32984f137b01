import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import { aborted, explainFailure } from '../../client/commands/failure.ts';
import { parseRegion } from '../../client/commands/options.ts';
import type { Shell } from '../../client/commands/shell.ts';
import { type CommandOptions, checkEndpoints, type StandIn } from './aws-config.ts';
import { checkService } from './settings.ts';

/** The options of a command for one client. */
export interface ClientOptions extends CommandOptions {
  readonly client: string;
}

/** Adds `--region`, where the secrets and the table are, and `--json`. */
export function addAwsOptions(command: Command): Command {
  const text = 'AWS region of the secrets and the table (default: as the settings of the broker)';
  return command.option('--region <region>', text, parseRegion).option('--json', 'answer in JSON');
}

/** Returns a command's action: checks its AWS stand-ins, makes its argument the option `client`, explains failures. */
export function operate<Options extends CommandOptions>(
  shell: Shell,
  standIns: readonly StandIn[],
  work: (options: Options, command: Command) => Promise<void>,
) {
  return async function (this: Command): Promise<void> {
    const options = { ...this.optsWithGlobals<Options & { service?: string }>(), client: this.processedArgs[0] };
    checkEndpoints(shell, options, standIns, this);
    await explainFailure(shell, options, async () => {
      checkService(shell, options.service, options.environment, this);
      await work(options, this);
    });
  };
}

/** Waits. @throws CommandFailure `aborted` on Ctrl-C */
export function pause({ signal }: Pick<Shell, 'signal'>, ms: number): Promise<void> {
  return sleep(ms, undefined, { signal }).catch(() => Promise.reject(aborted()));
}
