import type { Command } from 'commander';
import { note, printJson, timeText } from '../../client/commands/output.ts';
import type { Shell } from '../../client/commands/shell.ts';
import { secretName } from '../../functions/vocabulary.ts';
import { versionWith } from '../shared/client-secret.ts';
import { type ClientOptions, operate } from '../shared/operate.ts';
import { findSecret, openSecrets, stateFailure } from '../shared/secrets.ts';
import { addChangeCommand, type ChangeOptions, isConfirmed } from './confirm.ts';
import { findVersion } from './versions.ts';

/** Adds `client delete` and `client restore`, which mark a client's secret for deletion and remove the mark. */
export function addDeleteCommands(parent: Command, shell: Shell): void {
  addChangeCommand(parent, 'delete')
    .description('Mark the secret of a client for deletion; it can be restored for 30 days.')
    .action(
      operate<ClientOptions & ChangeOptions>(shell, ['SECRETS_MANAGER'], async (options, command) => {
        const { environment, client, json } = options;
        const secrets = openSecrets(shell, options);
        const secret = await findSecret(secrets, client);
        if (secret.deletedAt !== undefined) throw stateFailure('secret-deleted');
        const name = secretName(environment, client);
        const changes = [`marks the secret ${name} for deletion, which client restore can undo for 30 days`];
        if (!(await isConfirmed(shell, changes, options, command, secret))) return;
        const goneAt = await secrets.delete(client);
        if (json) printJson(shell, { environment, client, secret: name, deleted_at: goneAt.toISOString() });
        else shell.stdout.write(`${client} is marked, to be deleted on ${timeText(goneAt.getTime())}\n`);
        note(shell, 'The broker stops using it with its next check, and at the latest when the token in use expires.');
        note(shell, `Until then client restore ${client} undoes this.`);
      }),
    );

  addChangeCommand(parent, 'restore')
    .description('Remove the mark for deletion from the secret of a client.')
    .action(
      operate<ClientOptions & ChangeOptions>(shell, ['SECRETS_MANAGER'], async (options, command) => {
        const { environment, client, json } = options;
        const secrets = openSecrets(shell, options);
        const secret = await findSecret(secrets, client);
        const name = secretName(environment, client);
        const changes = [`removes the mark for deletion from the secret ${name}`];
        if (secret.deletedAt === undefined) note(shell, `${client} is not marked for deletion.`);
        else if (!(await isConfirmed(shell, changes, options, command, secret))) return;
        else await secrets.restore(client);
        if (json) printJson(shell, { environment, client, secret: name });
        else shell.stdout.write(`${client} has its secret\n`);
        note(shell, `client check ${client} shows whether its credential works.`);
      }),
    );
}

/** Adds `client discard`, which makes a version of a credential that is not in use unreachable. */
export function addDiscardCommand(parent: Command, shell: Shell): void {
  addChangeCommand(parent, 'discard')
    .description('Discard the pending version of a credential, or the previous version.')
    .option('--previous', 'the previous version, after a leak: the broker never falls back to it')
    .action(
      operate<DiscardOptions>(shell, ['SECRETS_MANAGER'], async (options, command) => {
        const { environment, client, previous, json } = options;
        const secrets = openSecrets(shell, options);
        const stage = previous ? 'AWSPREVIOUS' : 'AWSPENDING';
        const { secret, version } = await findVersion(secrets, client, stage);
        // A rotation function can leave AWSPENDING on every version, and client promote would reach it.
        const isPending = previous && versionWith('AWSPENDING', secret) === version;
        const stages = isPending ? (['AWSPENDING', stage] as const) : ([stage] as const);
        const changes = [
          `removes ${stages.join(' and ')} from version ${version} of ${client}, which no command can restore`,
          ...(previous
            ? [`leaves ${client} without a version to fall back to: unless it leaked, run client check first`]
            : []),
        ];
        if (!(await isConfirmed(shell, changes, options, command, secret))) return;
        for (const stage of stages) await secrets.moveStage(client, stage, version);
        if (json) printJson(shell, { environment, client, discarded: version });
        else shell.stdout.write(`${client}: version ${version} is discarded\n`);
      }),
    );
}

interface DiscardOptions extends ClientOptions, ChangeOptions {
  readonly previous?: boolean;
}
