import type { Command } from 'commander';
import { addCheckCommand } from './client/check.ts';
import { addDisableCommands } from './client/disable.ts';
import { addListCommand } from './client/list.ts';
import { addPromoteCommands } from './client/promote.ts';
import { addPutCommand } from './client/put.ts';
import { addRetryCommand } from './client/retry.ts';

/** `client`: what an operator does with the credentials of clients. */
export function addClientCommands(program: Command, signal: AbortSignal): void {
  const client = program
    .command('client')
    .description("Look after the clients' credentials.")
    .addHelpText('after', '\ndocs/operations.md tells which of them to use when.');
  addListCommand(client, signal);
  addPutCommand(client, signal);
  addCheckCommand(client, signal);
  addPromoteCommands(client, signal);
  addDisableCommands(client, signal);
  addRetryCommand(client, signal);
}
