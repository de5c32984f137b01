import { Command, CommanderError, Option } from 'commander';
import { addClientCommands } from './commands/client.ts';
import { addConfigCommand } from './commands/config.ts';
import { addDoctorCommand } from './commands/doctor.ts';
import { addHealthCommand } from './commands/health.ts';
import { addPolicyCommand } from './commands/policy.ts';
import { parseName } from './commands/shared/options.ts';
import { withoutValues } from './commands/shared/wrong-usage.ts';
import { addTokenCommand } from './commands/token.ts';

/** The command line: data on stdout, talk on stderr; exit 0 done, 1 refused or failed, 2 wrong usage, 130 Ctrl-C. */
const program = new Command('token-broker')
  .description('Asks a token broker, and looks after one.')
  .addOption(
    new Option('--environment <name>', 'whose broker it is')
      .env('TOKEN_BROKER_ENVIRONMENT')
      .default('local')
      .argParser(parseName),
  )
  .configureHelp({ showGlobalOptions: true })
  .showHelpAfterError('(--help shows how)')
  .configureOutput({ outputError: (text, write) => write(withoutValues(text)) })
  .exitOverride();

const interrupted = new AbortController();
process.once('SIGINT', () => interrupted.abort());
for (const stream of [process.stdout, process.stderr]) stream.on('error', ignoreBrokenPipe);

addTokenCommand(program, interrupted.signal);
addClientCommands(program, interrupted.signal);
addHealthCommand(program, interrupted.signal);
addDoctorCommand(program, interrupted.signal);
addPolicyCommand(program);
addConfigCommand(program);

try {
  await program.parseAsync();
} catch (error) {
  if (!(error instanceof CommanderError)) throw error;
  process.exitCode = error.exitCode === 0 ? 0 : 2;
}

/** Whoever reads our output may stop early (`| head`): what is left is for nobody. */
function ignoreBrokenPipe(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE') throw error;
}
