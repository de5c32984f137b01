import type { Command } from 'commander';
import { CommandFailure, explainFailure } from '../../../client/commands/failure.ts';
import { addConnectionOptions, type ConnectionOptions, connect, parseName } from '../../../client/commands/options.ts';
import { printJson, talk } from '../../../client/commands/output.ts';
import type { Shell } from '../../../client/commands/shell.ts';
import { checkMembers, checkPairs, isAccepted, type PairCheck, printChecks } from '../shared/checks.ts';
import { provablePairs, versionWith } from '../shared/client-secret.ts';
import { checkEndpoint } from '../shared/environment.ts';
import { addRegionOption } from '../shared/options.ts';
import { findSecret, openSecrets, type Secrets } from '../shared/secrets.ts';
import { addChangeOptions, type ChangeOptions, isConfirmed } from './confirm.ts';

/** `client promote` and `client rollback`: which version of a credential is the current one. */
export function addPromoteCommands(parent: Command, shell: Shell): void {
  addChangeOptions(addConnectionOptions(parent.command('promote')))
    .description('Make the pending version the current one, once every service accepts it.')
    .argument('<client>', 'whose credential', parseName)
    .option('--force', 'without checking it; asks first')
    .option('--json', 'answer in JSON')
    .action(async (client: string, _: unknown, command: Command) => {
      const options = command.optsWithGlobals<PromoteOptions>();
      const { environment, force, json } = options;
      checkEndpoint(shell, options, 'AWS_ENDPOINT_URL_SECRETS_MANAGER', command);
      const broker = force ? undefined : connect(shell, options, command);
      await explainFailure(shell, { ...options, client }, async () => {
        const secrets = openSecrets(shell, options);
        const { secret, version, current } = await findVersion(secrets, client, 'AWSPENDING');
        const changes = [
          `makes version ${version} of ${client} the current one${force ? ', unchecked' : ', if every service accepts it'}`,
        ];
        // A check decides better than a person: only what is not checked, or not to be done, is said before.
        if (force || options.dryRun) {
          if (!(await isConfirmed(shell, { client, secret, changes }, options, command))) return;
        }
        const pairs = broker ? provablePairs(shell, secret, environment) : [];
        const checks = broker ? await checkPairs(broker, pairs, { stage: 'AWSPENDING', signal: shell.signal }) : [];
        const outcome = { environment, client, version, checks };
        if (checks.every((check) => isAccepted(check, version))) {
          await makeCurrent(shell, secrets, { client, version, current });
          printOutcome(shell, { ...outcome, stage: 'AWSCURRENT' }, { json, next: TAKES_EFFECT });
        } else {
          printOutcome(shell, { ...outcome, stage: 'AWSPENDING' }, { json, next: NOT_PROMOTED });
          shell.exitCode = 1;
        }
      });
    });

  addChangeOptions(addRegionOption(parent.command('rollback')))
    .description('Make the previous version the current one again, at once and without checking it.')
    .argument('<client>', 'whose credential', parseName)
    .option('--json', 'answer in JSON')
    .action(async (client: string, _: unknown, command: Command) => {
      const options = command.optsWithGlobals<ChangeOptions>();
      const { environment, json } = options;
      checkEndpoint(shell, options, 'AWS_ENDPOINT_URL_SECRETS_MANAGER', command);
      await explainFailure(shell, { ...options, client }, async () => {
        const secrets = openSecrets(shell, options);
        const { secret, version, current } = await findVersion(secrets, client, 'AWSPREVIOUS');
        const changes = [`makes version ${version} of ${client} the current one, unchecked, in place of ${current}`];
        if (!(await isConfirmed(shell, { client, secret, changes }, options, command))) return;
        await secrets.moveStage(client, 'AWSCURRENT', { from: current, to: version });
        printOutcome(
          shell,
          { environment, client, version, stage: 'AWSCURRENT', checks: [] },
          { json, next: ROLLED_BACK },
        );
      });
    });
}

interface PromoteOptions extends ChangeOptions, ConnectionOptions {
  readonly force?: boolean;
}

async function findVersion(secrets: Secrets, client: string, stage: 'AWSPENDING' | 'AWSPREVIOUS') {
  const secret = await findSecret(secrets, client);
  const version = versionWith(stage, secret);
  const current = versionWith('AWSCURRENT', secret);
  if (version === undefined || version === current) {
    throw new CommandFailure(
      'version-missing',
      `No version of ${client} ${stage === 'AWSPENDING' ? 'waits to be promoted' : 'came before the current one'} (${stage})`,
      'client list shows the versions that there are; client put stores another one.',
    );
  }
  return { secret, version, current };
}

interface Promotion {
  readonly client: string;
  /** The version that becomes the current one. */
  readonly version: string;
  /** The one that is; if it no longer is, another operator was faster and nothing is done. */
  readonly current: string | undefined;
}

/** Makes the pending version the current one; AWS makes the one before AWSPREVIOUS. */
export async function makeCurrent(
  shell: Shell,
  secrets: Secrets,
  { client, version, current }: Promotion,
): Promise<void> {
  await secrets.moveStage(client, 'AWSCURRENT', { from: current, to: version });
  try {
    // AWS leaves it there, and it would look as if something waited to be promoted.
    await secrets.moveStage(client, 'AWSPENDING', { from: version });
  } catch (error) {
    if (!(error instanceof CommandFailure)) throw error;
    talk(
      shell,
      `Version ${version} is current now, but still carries AWSPENDING too: ${error.detail}. This does no harm.`,
    );
  }
}

/** What has become of a version. */
interface Outcome {
  readonly environment: string;
  readonly client: string;
  readonly version: string;
  readonly stage: 'AWSCURRENT' | 'AWSPENDING';
  readonly checks: readonly PairCheck[];
}

/** Writes the outcome: data on stdout, what it means and what to do next on stderr. */
export function printOutcome(
  shell: Shell,
  outcome: Outcome,
  { json, next }: { readonly json?: boolean | undefined; readonly next: string },
): void {
  const { environment, client, version, stage, checks } = outcome;
  if (json) printJson(shell, { environment, client, version, stage, checks: checks.map(checkMembers) });
  else {
    if (checks.length > 0) printChecks(shell, checks, environment);
    shell.stdout.write(`${client}: version ${version} is ${stage}\n`);
  }
  talk(shell, next);
}

/** When callers notice. */
export const TAKES_EFFECT =
  'The broker uses it within 60 s, or with the next check or renewal of a token when the event of Secrets Manager gets lost.';

const NOT_PROMOTED = 'It stays pending, and callers are not affected. --force promotes it without a check.';
const ROLLED_BACK = `${TAKES_EFFECT} What was current is AWSPREVIOUS now; rollback once more undoes this.`;
