import type { Command } from 'commander';
import { parseName } from '../../../client/commands/options.ts';
import { printJson, printTable, talk } from '../../../client/commands/output.ts';
import type { Shell } from '../../../client/commands/shell.ts';
import type { Pair } from '../../../functions/broker/pair.ts';
import { tableName } from '../../../lib/settings/names.ts';
import type { PairAdmin } from '../../pairs/pair-admin.ts';
import { shortVersion } from '../shared/checks.ts';
import { hasService } from '../shared/client-secret.ts';
import { operate } from '../shared/operate.ts';
import { openSecrets } from '../shared/secrets.ts';
import { addChangeCommand, type ChangeOptions, findStoppable, isConfirmed } from './confirm.ts';
import { changePairs, pairsOfClient } from './pair-changes.ts';

/** Adds `client retry`, which clears latches, holds and pauses, so that credentials are sent again. */
export function addRetryCommand(parent: Command, shell: Shell): void {
  addChangeCommand(parent, 'retry', '[client]')
    .description('Let the broker send rejected, held or paused credentials again, once their service works again.')
    .option('--service <name>', 'on this service only; without a client: for every client of it', parseName)
    .action(
      operate<RetryOptions>(shell, ['DYNAMODB', 'SECRETS_MANAGER'], async (options, command) => {
        const { environment, client, service, json } = options;
        if (client === undefined && service === undefined) command.error('error: name a client, --service, or both');
        const { pairs, secret } = await retriedPairs(shell, options);
        const change = `lets ${namesOf(pairs)} be sent again: clears latches, holds and pauses in the table ${tableName(environment)}`;
        if (!(await isConfirmed(shell, [change], options, command, secret))) return;
        const clear = async (admin: PairAdmin, pair: Pair) => {
          const { rejected, held, pause } = await admin.clear(pair);
          return { ...pair, versions: [...rejected.keys()], holds: [...held.keys()], pause: pause !== undefined };
        };
        const cleared = await changePairs(shell, pairs, options, clear);
        const rows = cleared.map(({ versions, holds, pause, ...pair }) => {
          return [pair.client, pair.service, short(versions), short(holds), pause ? 'ended' : '-'];
        });
        if (json) printJson(shell, { environment, client, cleared });
        else printTable(shell, ['CLIENT', 'SERVICE', 'CLEARED VERSIONS', 'HOLDS', 'PAUSE'], rows);
        const isAny = cleared.some(({ versions, holds, pause }) => versions.length > 0 || holds.length > 0 || pause);
        talk(shell, isAny ? SENT_AGAIN : 'No version was latched or held, and no pair was paused.');
      }),
    );
}

interface RetryOptions extends ChangeOptions {
  readonly client?: string;
  readonly service?: string;
}

/** Returns the client's pairs. Without a client: the service's, for clients whose tag names it or is absent. */
async function retriedPairs(shell: Shell, { client, ...options }: RetryOptions) {
  const secrets = openSecrets(shell, options);
  if (client !== undefined) {
    const named = { ...options, client };
    return { pairs: pairsOfClient(shell, named), secret: await findStoppable(shell, secrets, named) };
  }
  const { service = '' } = options;
  const clients = (await secrets.list()).filter((secret) => hasService(secret, service));
  return { pairs: clients.map(({ client: name }) => ({ client: name, service })), secret: clients[0] };
}

function namesOf(pairs: readonly Pair[]): string {
  const list = (names: readonly string[]) => [...new Set(names)].join(', ') || 'no client';
  return `${list(pairs.map(({ client }) => client))} on ${list(pairs.map(({ service }) => service))}`;
}

function short(versions: readonly string[]): string {
  return [...new Set(versions.map(shortVersion))].join(' ') || '-';
}

const SENT_AGAIN =
  'Each of these credentials may be sent again, a latched version up to three times: if it is still wrong, the service may lock the account.';
