import { Command, CommanderError, Option } from 'commander';
import { addCheckCommand } from './commands/client/check.ts';
import { addDeleteCommand } from './commands/client/delete.ts';
import { addDisableCommands } from './commands/client/disable.ts';
import { addListCommands } from './commands/client/list.ts';
import { addPromoteCommands } from './commands/client/promote.ts';
import { addPutCommand } from './commands/client/put.ts';
import { addRetryCommand } from './commands/client/retry.ts';
import { addConfigCommand } from './commands/config.ts';
import { addDoctorCommand } from './commands/doctor.ts';
import { addHealthCommand } from './commands/health.ts';
import { addPolicyCommand } from './commands/policy.ts';
import { addSealingKeyCommands } from './commands/sealing-key.ts';
import { parseName, withoutValues } from './commands/shared/options.ts';
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
const { signal } = interrupted;
process.once('SIGINT', () => interrupted.abort());
for (const stream of [process.stdout, process.stderr]) stream.on('error', ignoreBrokenPipe);

addTokenCommand(program, signal);
addClientCommands(program);
addHealthCommand(program, signal);
addDoctorCommand(program, signal);
addPolicyCommand(program);
addSealingKeyCommands(program, signal);
addConfigCommand(program);

try {
  await program.parseAsync();
} catch (error) {
  if (!(error instanceof CommanderError)) throw error;
  process.exitCode = error.exitCode === 0 ? 0 : 2;
}

/** `client`: what an operator does with the credentials of clients. */
function addClientCommands(parent: Command): void {
  const client = parent
    .command('client')
    .description("Look after the clients' credentials.")
    .addHelpText('after', '\ndocs/operations.md tells which of them to use when.');
  addListCommands(client, signal);
  addPutCommand(client, signal);
  addCheckCommand(client, signal);
  addPromoteCommands(client, signal);
  addDisableCommands(client, signal);
  addRetryCommand(client, signal);
  addDeleteCommand(client, signal);
}

/** The reader of our output may stop early (`| head`), and then the rest has no reader. */
function ignoreBrokenPipe(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE') throw error;
}
