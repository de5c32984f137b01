import { type Command, Option } from 'commander';
import { parseName } from '../client/commands/options.ts';
import { createProgram, interruption, runProgram } from '../client/commands/program.ts';
import { addTokenCommand } from '../client/commands/token.ts';
import { addWhoamiCommand } from '../client/commands/whoami.ts';
import { addCheckCommand } from './commands/client/check.ts';
import { addDeleteCommand } from './commands/client/delete.ts';
import { addDisableCommands } from './commands/client/disable.ts';
import { addListCommands } from './commands/client/list.ts';
import { addPromoteCommands } from './commands/client/promote.ts';
import { addPutCommand } from './commands/client/put.ts';
import { addRetryCommand } from './commands/client/retry.ts';
import { addConfigCommand } from './commands/config.ts';
import { addOperatorDoctorCommand } from './commands/doctor.ts';
import { addHealthCommand } from './commands/health.ts';
import { addOperatorPolicyCommand } from './commands/policy.ts';

const program = createProgram('token-broker')
  .description('Asks a token broker, and looks after one.')
  .addOption(
    new Option('--environment <name>', 'whose broker it is')
      .env('TOKEN_BROKER_ENVIRONMENT')
      .default('local')
      .argParser(parseName),
  );
const signal = interruption();

addTokenCommand(program, signal);
addWhoamiCommand(program, signal);
addClientCommands(program);
addHealthCommand(program, signal);
addOperatorDoctorCommand(program, signal);
addOperatorPolicyCommand(program);
addConfigCommand(program);

await runProgram(program);

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
