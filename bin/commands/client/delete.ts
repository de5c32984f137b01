import { type Command, Option } from 'commander';
import { explainFailure } from '../../../client/commands/failure.ts';
import { parseName, parseWhole } from '../../../client/commands/options.ts';
import { printJson, talk } from '../../../client/commands/output.ts';
import type { Shell } from '../../../client/commands/shell.ts';
import { secretName } from '../../../functions/contract.ts';
import { checkEndpoint } from '../shared/environment.ts';
import { addRegionOption } from '../shared/options.ts';
import { findSecret, openSecrets, secretDeleted } from '../shared/secrets.ts';
import { addChangeOptions, type ChangeOptions, isConfirmed } from './confirm.ts';

/** `client delete`: marks the secret of a client for deletion. */
export function addDeleteCommand(parent: Command, shell: Shell): void {
  const days = new Option('--recovery-days <days>', 'how long it can be restored').default(30);
  addChangeOptions(addRegionOption(parent.command('delete')))
    .description('Mark the secret of a client for deletion; until its day comes it can be restored.')
    .argument('<client>', 'the client', parseName)
    .addOption(days.argParser(parseWhole('days', 7, 30)))
    .option('--json', 'answer in JSON')
    .action(async (client: string, _: unknown, command: Command) => {
      const options = command.optsWithGlobals<DeleteOptions>();
      const { environment, recoveryDays, json } = options;
      checkEndpoint(shell, options, 'AWS_ENDPOINT_URL_SECRETS_MANAGER', command);
      await explainFailure(shell, { ...options, client }, async () => {
        const secrets = openSecrets(shell, options);
        const secret = await findSecret(secrets, client);
        if (secret.deletedAt !== undefined) throw secretDeleted();
        const name = secretName(environment, client);
        const changes = [`marks the secret ${name} for deletion, which can be taken back for ${recoveryDays} days`];
        if (!(await isConfirmed(shell, { client, secret, changes }, options, command))) return;
        const goneAt = new Date((await secrets.delete(client, recoveryDays)) ?? Date.now() + recoveryDays * DAY_MS);
        if (json) printJson(shell, { environment, client, secret: name, deleted_at: goneAt.toISOString() });
        else shell.stdout.write(`${client} is marked for deletion, gone on ${goneAt.toISOString().slice(0, 10)}\n`);
        talk(shell, 'The broker stops using it with its next check, and at the latest when the token in use ends.');
        talk(shell, `Until then this restores it: aws secretsmanager restore-secret --secret-id ${name}`);
      });
    });
}

interface DeleteOptions extends ChangeOptions {
  readonly recoveryDays: number;
}

const DAY_MS = 24 * 60 * 60_000;
