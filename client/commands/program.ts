import { Command, CommanderError } from 'commander';
import { withoutValues } from './options.ts';

/** A command line without commands: data on stdout, talk on stderr; exit 0 done, 1 refused or failed, 2 wrong usage, 130 Ctrl-C. */
export function createProgram(name: string): Command {
  return new Command(name)
    .configureHelp({ showGlobalOptions: true })
    .showHelpAfterError('(--help shows how)')
    .configureOutput({ outputError: (text, write) => write(withoutValues(text)) })
    .exitOverride();
}

/** The signal of Ctrl-C for the commands of this process. */
export function interruption(): AbortSignal {
  const interrupted = new AbortController();
  process.once('SIGINT', () => interrupted.abort());
  return interrupted.signal;
}

/** Runs what the arguments of this process name, once the commands are there, and sets the exit code. */
export async function runProgram(program: Command, addCommands?: () => Promise<void>): Promise<void> {
  for (const stream of [process.stdout, process.stderr]) stream.on('error', ignoreBrokenPipe);
  try {
    await addCommands?.();
    await program.parseAsync();
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    process.exitCode = error.exitCode === 0 ? 0 : 2;
  }
}

/** The reader of our output may stop early (`| head`), and then the rest has no reader. */
function ignoreBrokenPipe(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE') throw error;
}
