import { Command, CommanderError, InvalidArgumentError } from 'commander';
import { withoutValues } from './options.ts';
import { INTERRUPTED, type Shell } from './shell.ts';

/** Creates a command line without commands: data on stdout, messages on stderr. */
export function createProgram(name: string, { stdout, stderr, env }: Shell): Command {
  return new Command(name)
    .configureHelp({ showGlobalOptions: true })
    .showHelpAfterError('(--help shows how)')
    .configureOutput({
      writeOut: (text) => stdout.write(text),
      writeErr: (text) => stderr.write(text),
      outputError: (text, write) => write(withoutValues(text)),
    })
    .exitOverride()
    .hook('preAction', (program, command) => {
      for (const owner of new Set([program, command])) readVariables(owner, env);
    });
}

/** Sets missing options from the shell's variables, because `commander` reads only those of the process. */
function readVariables(command: Command, env: Shell['env']): void {
  for (const option of command.options) {
    const { envVar = '', flags, parseArg } = option;
    const name = option.attributeName();
    const value = env[envVar];
    if (value === undefined || command.getOptionValueSource(name) === 'cli') continue;
    try {
      command.setOptionValueWithSource(name, parseArg?.(value, undefined) ?? value, 'env');
    } catch (error) {
      if (!(error instanceof InvalidArgumentError)) throw error;
      command.error(`error: option '${flags}' from ${envVar} is invalid. ${error.message}`);
    }
  }
}

/** What each exit code means, and what helps. */
export const EXIT_CODES = {
  0: ['done', '-'],
  1: ['refused, failed, or something is wrong', 'Read the last lines on stderr: they name the next command.'],
  2: ['wrong usage: nothing was done', 'Run it with `--help`.'],
  [INTERRUPTED]: ['interrupted by Ctrl-C', 'Run it again.'],
} as const satisfies Readonly<Record<number, readonly [means: string, first: string]>>;

/** Runs the named command. Returns the exit code, a key of `EXIT_CODES`. */
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
    return error.exitCode === 0 || error.exitCode === INTERRUPTED ? error.exitCode : 2;
  }
}
