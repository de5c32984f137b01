import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import { CommandFailure, explainFailure } from '../../client/commands/failure.ts';
import { printLine } from '../../client/commands/output.ts';
import type { Shell } from '../../client/commands/shell.ts';
import { readPort } from '../local/config.ts';
import { exportLine, type ShellFile, shellFile, UNSET_LINE, UNSET_OTHERS } from '../local/shell.ts';

/** `env`: the variables with which a terminal asks the broker of `npm start` as one of its callers. */
export function addEnvCommand(program: Command, shell: Shell): void {
  program
    .command('env')
    .description('Print what sets the variables of a caller of the local broker, for eval; without a name the names.')
    .argument('[caller]', 'operator, or the role name of a caller')
    .option('--unset', 'print what takes the variables away')
    .action(async (name: string | undefined, { unset }: { readonly unset?: boolean }, command: Command) => {
      if (unset) return printLine(shell, UNSET_LINE);
      await explainFailure(shell, command.optsWithGlobals(), async () => {
        const { callers } = readShellFile(portOf(shell, command));
        const names = Object.keys(callers);
        if (name === undefined) {
          for (const one of names) printLine(shell, one);
          return;
        }
        const variables = Object.hasOwn(callers, name) ? callers[name] : undefined;
        if (variables === undefined) {
          return command.error(`error: the local broker has no such caller: it has ${names.join(', ')}`);
        }
        printLine(shell, `${UNSET_OTHERS}; ${exportLine(variables)}`);
      });
    });
}

function portOf({ env }: Shell, command: Command): number {
  try {
    return readPort(env.PORT);
  } catch {
    return command.error('error: PORT is not the port of a local broker');
  }
}

/** What the broker of a port has left for this user; it may have been ended too hard to take it away. */
function readShellFile(port: number): ShellFile {
  try {
    const left: ShellFile = JSON.parse(readFileSync(shellFile(port), 'utf8'));
    process.kill(left.pid, 0);
    return left;
  } catch {
    throw new CommandFailure(
      'broker-not-running',
      `No local broker of this folder runs on port ${port}`,
      'Start it with npm start; when it listens elsewhere, set PORT to its port.',
    );
  }
}
