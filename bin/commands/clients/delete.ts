import type { Command } from 'commander';
import { printJson, talk, timeText } from '../../../client/commands/output.ts';
import type { Shell } from '../../../client/commands/shell.ts';
import { secretName } from '../../../functions/vocabulary.ts';
import { type ClientOptions, operate } from '../shared/operate.ts';
import { findSecret, openSecrets, secretDeleted } from '../shared/secrets.ts';
import { addChangeCommand, type ChangeOptions, isConfirmed } from './confirm.ts';
import { findVersion } from './versions.ts';

/** Adds `client delete` and `client restore`, which mark a client's secret for deletion and remove the mark. */
export function addDeleteCommands(parent: Command, shell: Shell): void {
  addChangeCommand(parent, 'delete')
    .description('Mark the secret of a client for deletion; for 30 days it can be restored.')
    .action(
      operate<ClientOptions & ChangeOptions>(shell, ['SECRETS_MANAGER'], async (options, command) => {
        const { environment, client, json } = options;
        const secrets = openSecrets(shell, options);
        const secret = await findSecret(secrets, client);
        if (secret.deletedAt !== undefined) throw secretDeleted();
        const name = secretName(environment, client);
        const changes = [`marks the secret ${name} for deletion, which can be taken back for 30 days`];
        if (!(await isConfirmed(shell, changes, options, command, secret))) return;
        const goneAt = await secrets.delete(client);
        if (json) printJson(shell, { environment, client, secret: name, deleted_at: goneAt.toISOString() });
        else shell.stdout.write(`${client} is marked for deletion, gone on ${timeText(goneAt.getTime())}\n`);
        talk(shell, 'The broker stops using it with its next check, and at the latest when the token in use ends.');
        talk(shell, `Until then client restore ${client} takes it back.`);
      }),
    );

  addChangeCommand(parent, 'restore')
    .description('Take the mark for deletion back from the secret of a client.')
    .action(
      operate<ClientOptions & ChangeOptions>(shell, ['SECRETS_MANAGER'], async (options, command) => {
        const { environment, client, json } = options;
        const secrets = openSecrets(shell, options);
        const secret = await findSecret(secrets, client);
        const name = secretName(environment, client);
        const changes = [`takes the mark for deletion back from the secret ${name}`];
        if (secret.deletedAt === undefined) talk(shell, `${client} is not marked for deletion.`);
        else if (!(await isConfirmed(shell, changes, options, command, secret))) return;
        else await secrets.restore(client);
        if (json) printJson(shell, { environment, client, secret: name });
        else shell.stdout.write(`${client} has its secret\n`);
        talk(shell, `client check ${client} tells whether its credential works.`);
      }),
    );
}

/** Adds `client discard`, which makes a version of a credential that is not in use unreachable. */
export function addDiscardCommand(parent: Command, shell: Shell): void {
  addChangeCommand(parent, 'discard')
    .description('Throw away the version of a credential that waits, or the one before the current one.')
    .option('--previous', 'the one before the current one, after a leak: the broker never falls back to it')
    .action(
      operate<DiscardOptions>(shell, ['SECRETS_MANAGER'], async (options, command) => {
        const { environment, client, previous, json } = options;
        const secrets = openSecrets(shell, options);
        const stage = previous ? 'AWSPREVIOUS' : 'AWSPENDING';
        const { secret, version } = await findVersion(secrets, client, stage);
        const changes = [
          `takes ${stage} from version ${version} of ${client}, which no command brings back`,
          ...(previous ? [`leaves ${client} without a version to fall back to: client check before`] : []),
        ];
        if (!(await isConfirmed(shell, changes, options, command, secret))) return;
        await secrets.moveStage(client, stage, version);
        if (json) printJson(shell, { environment, client, discarded: version });
        else shell.stdout.write(`${client}: version ${version} is discarded\n`);
      }),
    );
}

interface DiscardOptions extends ClientOptions, ChangeOptions {
  readonly previous?: boolean;
}
