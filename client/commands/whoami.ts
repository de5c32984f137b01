import type { Command } from 'commander';
import { ruleText } from '../index.ts';
import { explainFailure } from './failure.ts';
import { addConnectionOptions, type CallerOptions, connect } from './options.ts';
import { note, printJson, printLine } from './output.ts';
import type { Shell } from './shell.ts';

/** Adds `whoami`, which prints the role that the broker sees, and what its access rules allow. */
export function addWhoamiCommand(program: Command, shell: Shell): void {
  addConnectionOptions(program.command('whoami'))
    .description('Print the role that signs your calls, and what the access rules of the broker allow it.')
    .action(async (_: unknown, command: Command) => {
      const options = command.optsWithGlobals<CallerOptions>();
      const broker = connect(shell, options, command);
      await explainFailure(shell, options, async () => {
        const { role, account, rules } = await broker.whoami({ signal: shell.signal });
        if (options.json) return printJson(shell, { role, account, rules });
        for (const line of [role, ...rules.map(ruleText)]) printLine(shell, line);
        if (rules.length === 0) note(shell, 'No access rule names this role: ask the operators of the broker for one.');
      });
    });
}
