import { randomBytes, randomUUID } from 'node:crypto';
import {
  ListSecretVersionIdsCommand,
  PutSecretValueCommand,
  type SecretVersionsListEntry,
  UpdateSecretVersionStageCommand,
} from '@aws-sdk/client-secrets-manager';
import type { Command } from 'commander';
import { CommandFailure, explainFailure } from '../../client/commands/failure.ts';
import { printJson, talk } from '../../client/commands/output.ts';
import type { Shell } from '../../client/commands/shell.ts';
import { type SecretStage, sealingKeyName } from '../../functions/contract.ts';
import { type AwsOptions, checkEndpoint, settingsOf } from './shared/environment.ts';
import { addRegionOption, type ClientOptions } from './shared/options.ts';
import { openSecretsManager } from './shared/secrets.ts';

/** `sealing-key rotate` and `sealing-key retire`: with which key the tokens in the table are sealed. */
export function addSealingKeyCommands(program: Command, shell: Shell): void {
  const parent = program.command('sealing-key').description('Change the key that seals the tokens in the table.');

  addRegionOption(parent.command('rotate'))
    .description('Make a new version of the sealing key the current one; the one before still opens what it sealed.')
    .option('--json', 'answer in JSON')
    .action(async (_: unknown, command: Command) => {
      const options = command.optsWithGlobals<ClientOptions>();
      checkEndpoint(shell, options, 'AWS_ENDPOINT_URL_SECRETS_MANAGER', command);
      await explainFailure(shell, options, async () => {
        const { environment, json } = options;
        const { client, SecretId, find, send } = openSealingKey(shell, options);
        const before = await find('AWSCURRENT');
        const version = randomUUID();
        const SecretString = randomBytes(48).toString('base64url');
        await client.send(new PutSecretValueCommand({ SecretId, ClientRequestToken: version, SecretString }), send);
        if (json) printJson(shell, { environment, version, previous: before?.VersionId });
        else shell.stdout.write(`sealing key: version ${version} is AWSCURRENT\n`);
        talk(shell, ROTATED);
      });
    });

  addRegionOption(parent.command('retire'))
    .description('End the version before the current one, once no living token can be sealed with it.')
    .option('--force', 'at once, after a leak: the broker requests the tokens again that it sealed')
    .option('--json', 'answer in JSON')
    .action(async (_: unknown, command: Command) => {
      const options = command.optsWithGlobals<ClientOptions & { readonly force?: boolean }>();
      checkEndpoint(shell, options, 'AWS_ENDPOINT_URL_SECRETS_MANAGER', command);
      await explainFailure(shell, options, async () => {
        const { environment, json } = options;
        const { client, SecretId, find, send } = openSealingKey(shell, options);
        const previous = await find('AWSPREVIOUS');
        if (previous === undefined) {
          throw new CommandFailure(
            'version-missing',
            'No version of the sealing key waits to be retired (AWSPREVIOUS)',
            'Nothing: only the current version opens tokens. sealing-key rotate makes another one.',
          );
        }
        const at = retirableAt(await find('AWSCURRENT'), options);
        if (!options.force && Date.now() < at) throw tooEarly(at);
        const retired = previous.VersionId;
        // A version without a stage opens nothing any more.
        const input = { SecretId, VersionStage: 'AWSPREVIOUS', RemoveFromVersionId: retired };
        await client.send(new UpdateSecretVersionStageCommand(input), send);
        if (json) printJson(shell, { environment, retired });
        else shell.stdout.write(`sealing key: version ${retired} is retired\n`);
        talk(shell, RETIRED);
      });
    });
}

/** The commands write a value of the key, and never read one. */
function openSealingKey(shell: Shell, options: AwsOptions) {
  const client = openSecretsManager(shell, options);
  const SecretId = sealingKeyName(options.environment);
  const send = { abortSignal: shell.signal };
  const find = async (stage: SecretStage): Promise<SecretVersionsListEntry | undefined> => {
    const { Versions = [] } = await client.send(new ListSecretVersionIdsCommand({ SecretId, MaxResults: 100 }), send);
    return Versions.find(({ VersionStages }) => VersionStages?.includes(stage));
  };
  return { client, SecretId, send, find };
}

/** When the last token that the version before could have sealed has ended. */
function retirableAt(current: SecretVersionsListEntry | undefined, { environment }: AwsOptions): number {
  const services = Object.values(settingsOf(environment)?.services ?? {});
  const longestSeconds = Math.max(...services.map(({ maxLifetimeSeconds }) => maxLifetimeSeconds), LEAST_SECONDS);
  return (current?.CreatedDate?.getTime() ?? Date.now()) + HAND_OVER_MS + longestSeconds * 1_000;
}

function tooEarly(at: number): CommandFailure {
  return new CommandFailure(
    'too-early',
    'Tokens that the version before has sealed may still live',
    `Run it again after ${new Date(at).toISOString()}; after a leak, at once with --force.`,
  );
}

/** An environment of the function reads the key once an hour. */
const HAND_OVER_MS = 3_600_000;

/** The default of `maxLifetimeSeconds`, for an environment whose settings are not at hand. */
const LEAST_SECONDS = 86_400;

const ROTATED =
  'Every environment of the function seals with it within an hour. Retire the version before with sealing-key retire, a day later; after a leak, at once with --force.';
const RETIRED =
  'Within an hour it opens nothing any more. A token that it sealed is requested again; callers notice nothing but a slower answer.';
