import type { Command } from 'commander';
import { explainFailure } from '../../../client/commands/failure.ts';
import { parseName } from '../../../client/commands/options.ts';
import { printJson, printTable, talk } from '../../../client/commands/output.ts';
import type { Shell } from '../../../client/commands/shell.ts';
import type { Pair } from '../../../functions/broker/pair/pair.ts';
import { tableName } from '../../../lib/settings/names.ts';
import { shortVersion } from '../shared/checks.ts';
import { hasService } from '../shared/client-secret.ts';
import { checkEndpoint, checkService } from '../shared/environment.ts';
import { addRegionOption } from '../shared/options.ts';
import { changePairs, type PairAdmin, pairsOfClient } from '../shared/pair-changes.ts';
import { openSecrets } from '../shared/secrets.ts';
import { addChangeOptions, type ChangeOptions, findStoppable, isConfirmed } from './confirm.ts';

/** `client retry`: ends what keeps credentials from being sent again. */
export function addRetryCommand(parent: Command, shell: Shell): void {
  addChangeOptions(addRegionOption(parent.command('retry')))
    .description(
      'Let credentials be sent again that were rejected, held or paused, once their service has been mended.',
    )
    .argument('[client]', 'the client; left out: every client of the service', parseName)
    .option('--service <name>', 'on this service only', parseName)
    .option('--even-if-missing', 'also a client without a secret')
    .option('--json', 'answer in JSON')
    .action(async (client: string | undefined, _: unknown, command: Command) => {
      const options = command.optsWithGlobals<RetryCommandOptions>();
      const { environment, service, json } = options;
      if (client === undefined && service === undefined) command.error('error: give a client, --service, or both');
      checkEndpoint(shell, options, 'AWS_ENDPOINT_URL_DYNAMODB', command);
      checkEndpoint(shell, options, 'AWS_ENDPOINT_URL_SECRETS_MANAGER', command);
      await explainFailure(shell, { ...options, client }, async () => {
        checkService(shell, service, environment, command);
        const { pairs, secret } = await retriedPairs(shell, client, options);
        const changes = [
          `lets ${namesOf(pairs)} be sent again: ends latches, holds and pauses in the table ${tableName(environment)}`,
        ];
        if (!(await isConfirmed(shell, { client, secret, changes }, options, command))) return;
        const changed = await changePairs(shell, pairs, options, (admin, pair) => admin.clear(pair));
        const cleared = changed.map(({ pair, result }) => ({ ...pair, ...result }));
        if (json) printJson(shell, { environment, client, cleared });
        else printTable(shell, ['CLIENT', 'SERVICE', 'CLEARED VERSIONS', 'HOLDS', 'PAUSE'], cleared.map(row));
        talk(shell, cleared.some(isChanged) ? SENT_AGAIN : 'No version was latched or held, and no pair was paused.');
      });
    });
}

interface RetryCommandOptions extends ChangeOptions {
  readonly evenIfMissing?: boolean;
  readonly service?: string;
}

type Cleared = Pair & Awaited<ReturnType<PairAdmin['clear']>>;

/** The pairs of the client; without one those of the service: of the clients whose tag names it or that have none. */
async function retriedPairs(shell: Shell, client: string | undefined, options: RetryCommandOptions) {
  const secrets = openSecrets(shell, options);
  if (client !== undefined) {
    return {
      pairs: pairsOfClient(shell, client, options),
      secret: await findStoppable(shell, secrets, client, options),
    };
  }
  const { service = '' } = options;
  const clients = (await secrets.list()).filter((secret) => hasService(secret, service));
  return { pairs: clients.map(({ client: name }) => ({ client: name, service })), secret: clients[0] };
}

function namesOf(pairs: readonly Pair[]): string {
  const list = (names: readonly string[]) => [...new Set(names)].join(', ') || 'no client';
  return `${list(pairs.map(({ client }) => client))} on ${list(pairs.map(({ service }) => service))}`;
}

function row({ client, service, versions, holds, pause }: Cleared): readonly string[] {
  return [client, service, short(versions), short(holds), pause ? 'ended' : '-'];
}

function short(versions: readonly string[]): string {
  return [...new Set(versions.map(shortVersion))].join(' ') || '-';
}

function isChanged({ versions, holds, pause }: Cleared): boolean {
  return versions.length > 0 || holds.length > 0 || pause;
}

const SENT_AGAIN =
  'Each of these credentials may be sent again, a latched version up to three times: if it is still wrong, the service may lock the account.';
