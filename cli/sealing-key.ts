import { randomBytes, randomUUID } from 'node:crypto';
import type { SecretVersionsListEntry } from '@aws-sdk/client-secrets-manager';
import type { Command } from 'commander';
import { CommandFailure } from '../client/commands/failure.ts';
import { note, timeText } from '../client/commands/output.ts';
import type { Shell } from '../client/commands/shell.ts';
import { type SecretStage, sealingKeyName } from '../functions/vocabulary.ts';
import { addChangeOptions, type ChangeOptions, isConfirmed } from './clients/confirm.ts';
import { addAwsOptions, answer, type CommandOptions, operate } from './shared/operate.ts';
import { openSecretsManager, secretChanged } from './shared/secrets.ts';
import { settingsOf } from './shared/settings.ts';

/** Adds `sealing-key rotate` and `sealing-key retire`, for the key that seals the tokens in the table. */
export function addSealingKeyCommands(program: Command, shell: Shell): void {
  const parent = program.command('sealing-key').description('Change the key that seals the tokens in the table.');

  const rotate = addChangeOptions(addAwsOptions(parent.command('rotate'))).description(
    'Make a new version of the sealing key current; the previous version still opens what it sealed.',
  );
  operate<ChangeOptions>(rotate, shell, ['SECRETS_MANAGER'], async (options) => {
    const { client, SecretId, send, current, previous } = await openSealingKey(shell, options);
    const version = randomUUID();
    const changes = [`makes a new version of ${SecretId} current, which seals new tokens`];
    // AWS moves AWSPREVIOUS, so the version that has it can be read no more.
    if (previous)
      changes.push(`retires version ${previous.VersionId} at once: tokens that it sealed are requested again`);
    if (!(await isConfirmed(shell, changes, options, rotate))) return;
    // A rotation by another operator meanwhile would end a version that the plan does not name.
    if ((await openSealingKey(shell, options)).current?.VersionId !== current?.VersionId) throw secretChanged();
    const SecretString = randomBytes(48).toString('base64url');
    await client.putSecretValue({ SecretId, ClientRequestToken: version, SecretString }, send);
    const text = `sealing key: version ${version} is AWSCURRENT\n`;
    answer(shell, options, { version, previous: current?.VersionId }, text);
    note(shell, ROTATED);
  });

  const retire = addChangeOptions(addAwsOptions(parent.command('retire')))
    .description('Retire the previous version, once every token that it sealed has expired.')
    .option('--force', 'at once, after a leak: the broker requests again the tokens that it sealed');
  operate<ChangeOptions & { readonly force?: boolean }>(retire, shell, ['SECRETS_MANAGER'], async (options) => {
    const { client, SecretId, send, current, previous } = await openSealingKey(shell, options);
    if (previous === undefined) {
      throw new CommandFailure(
        'version-missing',
        'No version of the sealing key waits to be retired (AWSPREVIOUS)',
        'Nothing to do: only the current version opens tokens. sealing-key rotate makes another version.',
      );
    }
    const at = retirableAt(current, options.environment);
    if (!options.force && Date.now() < at) {
      const advice = `Run it again after ${timeText(at)}; after a leak, at once with --force.`;
      throw new CommandFailure('too-early', 'Tokens of the previous version may not have expired yet', advice);
    }
    const retired = previous.VersionId;
    const change = `retires version ${retired} of ${SecretId}: a token that it sealed is requested again`;
    if (!(await isConfirmed(shell, [change], options, retire))) return;
    // Without a stage, a version can no longer be read, so it opens no token.
    const input = { SecretId, VersionStage: 'AWSPREVIOUS', RemoveFromVersionId: retired };
    await client.updateSecretVersionStage(input, send);
    answer(shell, options, { retired }, `sealing key: version ${retired} is retired\n`);
    note(shell, RETIRED);
  });
}

/** Finds the key's versions. The commands write the key's values, and never read them. */
async function openSealingKey(shell: Shell, options: CommandOptions) {
  const client = openSecretsManager(shell, options);
  const SecretId = sealingKeyName(options.environment);
  const send = { abortSignal: shell.signal };
  const { Versions = [] } = await client.listSecretVersionIds({ SecretId, MaxResults: 100 }, send);
  const find = (stage: SecretStage) => Versions.find(({ VersionStages }) => VersionStages?.includes(stage));
  return { client, SecretId, send, current: find('AWSCURRENT'), previous: find('AWSPREVIOUS') };
}

/** Returns when every token that the previous version could have sealed has expired. */
function retirableAt(current: SecretVersionsListEntry | undefined, environment: string): number {
  const services = Object.values(settingsOf(environment)?.services ?? {});
  const longestSeconds = Math.max(...services.map(({ maxLifetimeSeconds }) => maxLifetimeSeconds), LEAST_SECONDS);
  return (current?.CreatedDate?.getTime() ?? Date.now()) + HAND_OVER_MS + longestSeconds * 1_000;
}

/** The interval at which an instance of the function reads the key. */
const HAND_OVER_MS = 3_600_000;

/** The default of `maxLifetimeSeconds`, for an environment without settings in this checkout. */
const LEAST_SECONDS = 86_400;

const ROTATED =
  'Every instance of the function seals with it within an hour. Retire the previous version with sealing-key retire, a day later; after a leak, at once with --force.';
const RETIRED =
  'Within an hour it opens no token. A token that it sealed is requested again; callers only notice a slower answer.';
