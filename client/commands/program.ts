import { Command, CommanderError } from 'commander';
import { withoutValues } from './options.ts';
import { printJson } from './output.ts';
import { INTERRUPTED, type Shell } from './shell.ts';

/** Creates a command line without commands: data on stdout, messages on stderr. */
export function createProgram(name: string, { stdout, stderr }: Shell): Command {
  return new Command(name)
    .configureHelp({ showGlobalOptions: true })
    .showHelpAfterError('(--help shows how)')
    .configureOutput({
      writeOut: (text) => stdout.write(text),
      writeErr: (text) => stderr.write(text),
      outputError: (text, write) => write(withoutValues(text)),
    })
    .exitOverride();
}

/** Runs the named command. Returns the exit code, which docs/messages.md explains. */
export async function runProgram(
  program: Command,
  args: readonly string[],
  shell: Shell,
  addCommands?: () => Promise<void>,
): Promise<number> {
  try {
    await addCommands?.();
    await program.parseAsync(args, { from: 'user' });
    return shell.exitCode;
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0 || error.exitCode === INTERRUPTED) return error.exitCode;
    const detail = withoutValues(error.message).replace(/^error: /, '');
    if (args.includes('--json')) printJson(shell, { type: 'wrong-usage', detail });
    return 2;
  }
}
