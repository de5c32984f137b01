import type { Command } from 'commander';
import { checkPairs } from '../shared/checks.ts';
import { addRegionOption, type ClientOptions, provablePairs } from '../shared/client-options.ts';
import { addConnectionOptions, type ConnectionOptions, connect } from '../shared/connect.ts';
import { checkEndpoint } from '../shared/environment.ts';
import { CommandFailure, explainFailure } from '../shared/failure.ts';
import { parseName } from '../shared/options.ts';
import { openSecrets, type Secrets } from '../shared/secrets.ts';
import { versionWith } from '../shared/stored-secret.ts';
import { noSuchClient } from './check.ts';
import { isAcceptedVersion, makeCurrent, printOutcome, TAKES_EFFECT } from './promotion.ts';

/** `client promote` and `client rollback`: which version of a credential is the current one. */
export function addPromoteCommands(parent: Command, signal: AbortSignal): void {
  addConnectionOptions(parent.command('promote'))
    .description('Make the pending version the current one, once every service accepts it.')
    .argument('<client>', 'whose credential', parseName)
    .option('--force', 'without checking it')
    .option('--json', 'answer in JSON')
    .action(async (client: string, _: unknown, command: Command) => {
      const options = command.optsWithGlobals<PromoteCommandOptions>();
      const { environment, force, json } = options;
      checkEndpoint(options, 'AWS_ENDPOINT_URL_SECRETS_MANAGER', command);
      const broker = force ? undefined : connect(options, command);
      await explainFailure({ ...options, client }, async () => {
        const secrets = openSecrets(options, signal);
        const { secret, version, current } = await find(secrets, client, 'AWSPENDING');
        const pairs = broker ? provablePairs(secret, environment) : [];
        const checks = broker ? await checkPairs(broker, pairs, { stage: 'AWSPENDING', signal }) : [];
        const outcome = { environment, client, version, checks };
        if (checks.every((check) => isAcceptedVersion(check, version))) {
          await makeCurrent(secrets, { client, version, current, isPending: true });
          printOutcome({ ...outcome, stage: 'AWSCURRENT' }, { json, next: TAKES_EFFECT });
        } else {
          printOutcome({ ...outcome, stage: 'AWSPENDING' }, { json, next: NOT_PROMOTED });
          process.exitCode = 1;
        }
      });
    });

  addRegionOption(parent.command('rollback'))
    .description('Make the previous version the current one again, at once and without checking it.')
    .argument('<client>', 'whose credential', parseName)
    .option('--json', 'answer in JSON')
    .action(async (client: string, _: unknown, command: Command) => {
      const options = command.optsWithGlobals<ClientOptions>();
      const { environment, json } = options;
      checkEndpoint(options, 'AWS_ENDPOINT_URL_SECRETS_MANAGER', command);
      await explainFailure({ ...options, client }, async () => {
        const secrets = openSecrets(options, signal);
        const { version, current } = await find(secrets, client, 'AWSPREVIOUS');
        await makeCurrent(secrets, { client, version, current, isPending: false });
        printOutcome({ environment, client, version, stage: 'AWSCURRENT', checks: [] }, { json, next: ROLLED_BACK });
      });
    });
}

interface PromoteCommandOptions extends ClientOptions, ConnectionOptions {
  readonly region?: string;
  readonly force?: boolean;
}

async function find(secrets: Secrets, client: string, stage: 'AWSPENDING' | 'AWSPREVIOUS') {
  const secret = await secrets.find(client);
  if (secret === undefined) throw noSuchClient(client);
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

const NOT_PROMOTED = 'It stays pending, and callers are not affected. --force promotes it without a check.';
const ROLLED_BACK = `${TAKES_EFFECT} What was current is AWSPREVIOUS now; rollback once more undoes this.`;
