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
import { createSecretsManagerClient } from '../../functions/aws/secrets-manager.ts';
import { sealingKeyName } from '../../functions/contract.ts';
import { type AwsOptions, awsConfig, awsRegion, checkEndpoint, settingsOf } from './shared/environment.ts';
import { addRegionOption, type ClientOptions } from './shared/options.ts';
import { failInOurWords, PATIENT } from './shared/secrets.ts';

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
        const key = openSealingKey(shell, options);
        const before = versionWith('AWSCURRENT', await key.versions())?.id;
        const version = await key.rotate();
        const { environment, json } = options;
        if (json) printJson(shell, { environment, version, previous: before });
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
        const key = openSealingKey(shell, options);
        const versions = await key.versions();
        const previous = versionWith('AWSPREVIOUS', versions);
        if (previous === undefined) {
          throw new CommandFailure(
            'version-missing',
            'No version of the sealing key waits to be retired (AWSPREVIOUS)',
            'Nothing: only the current version opens tokens. sealing-key rotate makes another one.',
          );
        }
        const at = retirableAt(versionWith('AWSCURRENT', versions), options);
        if (!options.force && Date.now() < at) throw tooEarly(at);
        await key.retire(previous.id);
        const { environment, json } = options;
        if (json) printJson(shell, { environment, retired: previous.id });
        else shell.stdout.write(`sealing key: version ${previous.id} is retired\n`);
        talk(shell, RETIRED);
      });
    });
}

interface KeyVersion {
  readonly id: string;
  readonly stages: readonly string[];
  /** Epoch milliseconds. */
  readonly createdAt: number;
}

/** All that the commands do with the sealing key. They write a value, and never read one. */
function openSealingKey(shell: Shell, options: AwsOptions) {
  const region = awsRegion(shell, options);
  const client = createSecretsManagerClient({ ...awsConfig(shell, options, 'SECRETS_MANAGER'), ...PATIENT });
  failInOurWords(client, region);
  const send = { abortSignal: shell.signal };
  const SecretId = sealingKeyName(options.environment);
  return {
    /** Those that carry a stage. */
    async versions(): Promise<readonly KeyVersion[]> {
      const command = new ListSecretVersionIdsCommand({ SecretId, MaxResults: 100 });
      const { Versions = [] } = await client.send(command, send);
      return Versions.flatMap((version) => readVersion(version) ?? []);
    },
    async rotate(): Promise<string> {
      const version = randomUUID();
      const SecretString = randomBytes(48).toString('base64url');
      const command = new PutSecretValueCommand({ SecretId, ClientRequestToken: version, SecretString });
      await client.send(command, send);
      return version;
    },
    /** A version without a stage opens nothing any more. */
    async retire(version: string): Promise<void> {
      const input = { SecretId, VersionStage: 'AWSPREVIOUS', RemoveFromVersionId: version };
      await client.send(new UpdateSecretVersionStageCommand(input), send);
    },
  };
}

function readVersion({ VersionId: id, VersionStages: stages = [], CreatedDate }: SecretVersionsListEntry) {
  return id === undefined ? undefined : { id, stages, createdAt: CreatedDate?.getTime() ?? Date.now() };
}

function versionWith(stage: string, versions: readonly KeyVersion[]): KeyVersion | undefined {
  return versions.find(({ stages }) => stages.includes(stage));
}

/** When the last token that the version before could have sealed has ended. */
function retirableAt(current: KeyVersion | undefined, { environment }: AwsOptions): number {
  const services = Object.values(settingsOf(environment)?.services ?? {});
  const longestSeconds = Math.max(...services.map(({ maxLifetimeSeconds }) => maxLifetimeSeconds), LEAST_SECONDS);
  return (current?.createdAt ?? Date.now()) + HAND_OVER_MS + longestSeconds * 1_000;
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
