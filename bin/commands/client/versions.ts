import { type Command, Option } from 'commander';
import { CommandFailure } from '../../../client/commands/failure.ts';
import { addConnectionOptions, type ConnectionOptions, connect, parseName } from '../../../client/commands/options.ts';
import { printJson, talk } from '../../../client/commands/output.ts';
import type { Shell } from '../../../client/commands/shell.ts';
import { SECRET_STAGES, type SecretStage } from '../../../functions/contract.ts';
import { askForChecks, checkMembers, findingOf, isAccepted, type PairCheck, printChecks } from '../shared/checks.ts';
import { provablePairs, versionWith } from '../shared/client-secret.ts';
import { addAwsOptions, type ClientOptions, checkEndpoint, operate } from '../shared/environment.ts';
import { findSecret, openSecrets, type Secrets } from '../shared/secrets.ts';
import { addChangeOptions, type ChangeOptions, isConfirmed } from './confirm.ts';

/** `client check`: does the credential work on the client's services? */
export function addCheckCommand(parent: Command, shell: Shell): void {
  addConnectionOptions(parent.command('check'))
    .description('Let the broker find out whether the credential of a client works; needs the operation check.')
    .argument('<client>', 'whose credential', parseName)
    .option('--service <name>', 'on this service only', parseName)
    .addOption(new Option('--stage <stage>', 'which version').choices(SECRET_STAGES).default('AWSCURRENT'))
    .option('--json', 'answer in JSON')
    .action(
      operate<CheckOptions>(shell, [], async (options, command) => {
        const { environment, client, service, stage, json } = options;
        if (service === undefined) checkEndpoint(shell, options, 'SECRETS_MANAGER', command);
        const broker = connect(shell, options, command);
        const pairs =
          service === undefined
            ? provablePairs(shell, await findSecret(openSecrets(shell, options), client), environment)
            : [{ client, service }];
        const checks = await askForChecks(shell, broker, pairs, stage);
        if (json) printJson(shell, { environment, client, stage, checks: checks.map(checkMembers) });
        else printChecks(shell, checks, environment);
        if (!checks.every((check) => isAccepted(check))) shell.exitCode = 1;
      }),
    );
}

interface CheckOptions extends ClientOptions, ConnectionOptions {
  readonly service?: string;
  readonly stage: SecretStage;
}

/** `client promote` and `client rollback`: which version of a credential is the current one. */
export function addPromoteCommands(parent: Command, shell: Shell): void {
  addChangeOptions(addConnectionOptions(parent.command('promote')))
    .description('Make the pending version the current one, once every service accepts it.')
    .argument('<client>', 'whose credential', parseName)
    .option('--force', 'without checking it; asks first')
    .option('--json', 'answer in JSON')
    .action(
      operate<PromoteOptions>(shell, ['SECRETS_MANAGER'], async (options, command) => {
        const { environment, client, force } = options;
        const broker = force ? undefined : connect(shell, options, command);
        const secrets = openSecrets(shell, options);
        const { secret, version, current } = await findVersion(secrets, client, 'AWSPENDING');
        // The check decides better than a person: ask only before an unchecked promotion or a dry run.
        if (force || options.dryRun) {
          const how = force ? 'unchecked' : 'if every service accepts it';
          const changes = [`makes version ${version} of ${client} the current one, ${how}`];
          if (!(await isConfirmed(shell, changes, options, command, secret))) return;
        }
        const pairs = broker ? provablePairs(shell, secret, environment) : [];
        const checks = broker ? await askForChecks(shell, broker, pairs, 'AWSPENDING') : [];
        await conclude(shell, secrets, options, { version, stage: 'AWSPENDING', checks, current });
      }),
    );

  addChangeOptions(addAwsOptions(parent.command('rollback')))
    .description('Make the previous version the current one again, at once and without checking it.')
    .argument('<client>', 'whose credential', parseName)
    .action(
      operate<ClientOptions & ChangeOptions>(shell, ['SECRETS_MANAGER'], async (options, command) => {
        const { client } = options;
        const secrets = openSecrets(shell, options);
        const { secret, version, current } = await findVersion(secrets, client, 'AWSPREVIOUS');
        const changes = [`makes version ${version} of ${client} the current one, unchecked, in place of ${current}`];
        if (!(await isConfirmed(shell, changes, options, command, secret))) return;
        await secrets.moveStage(client, 'AWSCURRENT', current, version);
        printOutcome(shell, options, { version, stage: 'AWSCURRENT', checks: [] }, ROLLED_BACK);
      }),
    );
}

interface PromoteOptions extends ClientOptions, ChangeOptions, ConnectionOptions {
  readonly force?: boolean;
}

async function findVersion(secrets: Secrets, client: string, stage: 'AWSPENDING' | 'AWSPREVIOUS') {
  const secret = await findSecret(secrets, client);
  const version = versionWith(stage, secret);
  const current = versionWith('AWSCURRENT', secret);
  if (version !== undefined && version !== current) return { secret, version, current };
  throw new CommandFailure(
    'version-missing',
    `No version of ${client} ${stage === 'AWSPENDING' ? 'waits to be promoted' : 'came before the current one'} (${stage})`,
    'client list shows the versions that there are; client put stores another one.',
  );
}

/** The stage and the checks of a version. */
interface Outcome {
  readonly version: string;
  readonly stage: 'AWSCURRENT' | 'AWSPENDING';
  readonly checks: readonly PairCheck[];
}

/** Promotes a pending version that is accepted everywhere, or forced; tells the outcome and the next step. */
export async function conclude(
  shell: Shell,
  secrets: Secrets,
  options: ClientOptions & { readonly force?: boolean },
  { version, stage, checks, current }: Outcome & { readonly current: string | undefined },
): Promise<void> {
  const areAccepted = checks.every((check) => isAccepted(check, version));
  const isPromoted = stage === 'AWSPENDING' && (areAccepted || options.force === true);
  if (isPromoted) {
    // Fails when another operator was faster; AWS makes the old version AWSPREVIOUS.
    await secrets.moveStage(options.client, 'AWSCURRENT', current, version);
    // AWS leaves AWSPENDING on it, as if it still waited to be promoted.
    await secrets.moveStage(options.client, 'AWSPENDING', version).catch((error: unknown) => {
      if (!(error instanceof CommandFailure)) throw error;
      const state = `Version ${version} is current now, but still carries AWSPENDING too`;
      talk(shell, `${state}: ${error.detail}. This does no harm.`);
    });
  }
  const isWrong = checks.some((check) => ['rejected', 'secret-malformed'].includes(findingOf(check)));
  const next = NEXT[isPromoted ? 'promoted' : stage][areAccepted ? 'accepted' : isWrong ? 'refused' : 'unclear'];
  printOutcome(shell, options, { version, stage: isPromoted ? 'AWSCURRENT' : stage, checks }, next);
  if (!areAccepted && !isPromoted) shell.exitCode = 1;
}

/** Writes the outcome: data on stdout, its meaning and the next step on stderr. */
function printOutcome(
  shell: Shell,
  { environment, client, json }: ClientOptions,
  { version, stage, checks }: Outcome,
  next: string,
): void {
  if (json) printJson(shell, { environment, client, version, stage, checks: checks.map(checkMembers) });
  else {
    if (checks.length > 0) printChecks(shell, checks, environment);
    shell.stdout.write(`${client}: version ${version} is ${stage}\n`);
  }
  talk(shell, next);
}

/** When callers notice. */
const TAKES_EFFECT =
  'The broker uses it within 60 s; if the event of Secrets Manager is lost, with the next check or renewal of a token.';
const ROLLED_BACK = `${TAKES_EFFECT} What was current is AWSPREVIOUS now; rollback once more undoes this.`;
const FIRST = 'It is the first version, so AWS made it the current one at once';
const FORCED = `Promoted by --force. ${TAKES_EFFECT} client rollback undoes it.`;
const PENDING = 'It stays pending, and callers are not affected.';
const STORE = 'Store the right credential with client put';

/** The next step, by the stage of the version and the answers of the services. */
const NEXT = {
  promoted: { accepted: TAKES_EFFECT, refused: FORCED, unclear: FORCED },
  AWSPENDING: {
    accepted: '',
    refused: `${PENDING} ${STORE}; --force promotes it all the same.`,
    unclear: `${PENDING} client promote tries it again; --force promotes it without a check.`,
  },
  AWSCURRENT: {
    accepted: `${FIRST}. Callers get tokens as soon as an access rule lets them.`,
    refused: `${FIRST}; no caller had a token of the client before. ${STORE}.`,
    unclear: `${FIRST}; no caller had a token of the client before. client check tries it again.`,
  },
} as const;
