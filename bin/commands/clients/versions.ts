import { type Command, Option } from 'commander';
import { CommandFailure } from '../../../client/commands/failure.ts';
import { addConnectionOptions, type ConnectionOptions, connect, parseName } from '../../../client/commands/options.ts';
import { printJson, talk } from '../../../client/commands/output.ts';
import type { Shell } from '../../../client/commands/shell.ts';
import type { Pair } from '../../../functions/broker/pair.ts';
import { SECRET_STAGES, type SecretStage } from '../../../functions/vocabulary.ts';
import { checkEndpoint } from '../shared/aws-config.ts';
import { askInTurn, checkMembers, findingOf, isAccepted, type PairCheck, printChecks } from '../shared/checks.ts';
import { type ClientSecret, checkedPairs, provablePairs, versionWith } from '../shared/client-secret.ts';
import { type ClientOptions, operate } from '../shared/operate.ts';
import { findSecret, openSecrets, type Secrets } from '../shared/secrets.ts';
import { addChangeCommand, addChangeOptions, type ChangeOptions, isConfirmed, isTerminal, isYes } from './confirm.ts';

/** Adds `client check`, which checks a credential on the client's services. */
export function addCheckCommand(parent: Command, shell: Shell): void {
  addConnectionOptions(parent.command('check'))
    .description('Let the broker check whether the credential of a client works; needs the operation check.')
    .argument('<client>', 'the client', parseName)
    .option('--service <name>', 'on this service only', parseName)
    .addOption(new Option('--stage <stage>', 'the version').choices(SECRET_STAGES).default('AWSCURRENT'))
    .action(
      operate<CheckOptions>(shell, [], async (options, command) => {
        const { environment, client, service, stage, json } = options;
        if (service === undefined) checkEndpoint(shell, options, 'SECRETS_MANAGER', command);
        const broker = connect(shell, options, command);
        const pairs = service === undefined ? await pairsOf(shell, options) : [{ client, service }];
        const checks = await askInTurn(shell, broker, pairs, stage);
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

async function pairsOf(shell: Shell, options: CheckOptions): Promise<readonly Pair[]> {
  const secret = await findSecret(openSecrets(shell, options), options.client);
  return provablePairs(shell, secret, options.environment, versionWith(options.stage, secret));
}

/** Adds `client promote` and `client rollback`, which change the current version of a credential. */
export function addPromoteCommands(parent: Command, shell: Shell): void {
  addChangeOptions(addConnectionOptions(parent.command('promote')))
    .description('Make the pending version current, if every service accepts it.')
    .argument('<client>', 'the client', parseName)
    .option('--force', 'also if the client is disabled, or a service does not answer; asks if a service rejects it')
    .option('--accept-rejected', 'with --force: even if a service rejects it')
    .action(
      operate<PromoteOptions>(shell, ['SECRETS_MANAGER'], async (options, command) => {
        const { environment, client, force } = options;
        const broker = connect(shell, options, command);
        const secrets = openSecrets(shell, options);
        const { secret, version } = await findVersion(secrets, client, 'AWSPENDING');
        const pairs = provablePairs(shell, secret, environment, version);
        const services = servicesChanges(shell, secret, pairs, environment);
        // The check decides, not a person. Confirm only a forced promotion or a dry run.
        if (force || options.dryRun) {
          const how = force ? 'if no service rejects it' : 'if every service accepts it';
          const changes = [`makes version ${version} of ${client} current, ${how}`, ...services];
          if (!(await isConfirmed(shell, changes, options, command, secret))) return;
        } else for (const change of services) talk(shell, `Promoting it ${change}.`);
        const checks = await askInTurn(shell, broker, pairs, 'AWSPENDING', force);
        await conclude(shell, secrets, options, { version, stage: 'AWSPENDING', checks }, secret);
      }),
    );

  addChangeCommand(parent, 'rollback')
    .description('Make the previous version current again, at once and without checking it.')
    .action(
      operate<ClientOptions & ChangeOptions>(shell, ['SECRETS_MANAGER'], async (options, command) => {
        const { client, environment } = options;
        const secrets = openSecrets(shell, options);
        const { secret, version } = await findVersion(secrets, client, 'AWSPREVIOUS');
        const place = `in place of ${versionWith('AWSCURRENT', secret)}`;
        const services = servicesChanges(shell, secret, checkedPairs(shell, secret, environment, version), environment);
        const changes = [`makes version ${version} of ${client} current, unchecked, ${place}`, ...services];
        if (!(await isConfirmed(shell, changes, options, command, secret))) return;
        await secrets.makeCurrent(secret, version);
        printOutcome(shell, options, { version, stage: 'AWSCURRENT', checks: [] }, ROLLED_BACK);
      }),
    );
}

/** Options that promote a version which not every service accepts. */
export interface ForceOptions {
  readonly force?: boolean;
  readonly acceptRejected?: boolean;
}

type PromoteOptions = ClientOptions & ChangeOptions & ConnectionOptions & ForceOptions;

/** Describes which services a client gains and loses when these become its pairs. */
export function servicesChanges(shell: Shell, secret: ClientSecret, pairs: readonly Pair[], environment: string) {
  const namesOf = (list: readonly Pair[]) => list.map(({ service }) => service);
  const [before, after] = [namesOf(checkedPairs(shell, secret, environment)), namesOf(pairs)];
  const added = after.filter((name) => !before.includes(name)).join(', ');
  const dropped = before.filter((name) => !after.includes(name)).join(', ');
  return [
    ...(added ? [`adds the service ${added} to ${secret.client}`] : []),
    ...(dropped ? [`removes the service ${dropped} from ${secret.client}: callers get no token of it`] : []),
  ];
}

/** Finds the version that has a stage and is not current. */
export async function findVersion(secrets: Secrets, client: string, stage: 'AWSPENDING' | 'AWSPREVIOUS') {
  const secret = await findSecret(secrets, client);
  const version = versionWith(stage, secret);
  if (version !== undefined && version !== versionWith('AWSCURRENT', secret)) return { secret, version };
  throw new CommandFailure(
    'version-missing',
    `No version of ${client} ${stage === 'AWSPENDING' ? 'waits to be promoted' : 'precedes the current version'} (${stage})`,
    'client list shows the versions; client put stores another version.',
  );
}

/** The stage and the checks of a version. */
interface Outcome {
  readonly version: string;
  readonly stage: 'AWSCURRENT' | 'AWSPENDING';
  readonly checks: readonly PairCheck[];
}

/** Promotes a pending version that every service accepts, or that is forced. Prints the outcome and the next step. */
export async function conclude(
  shell: Shell,
  secrets: Secrets,
  options: ClientOptions & ForceOptions,
  { version, stage, checks }: Outcome,
  secret: ClientSecret | undefined,
  services?: string,
): Promise<void> {
  const areAccepted = checks.every((check) => isAccepted(check, version));
  const rejecting = checks.filter((check) => ['rejected', 'secret-malformed'].includes(findingOf(check)));
  const isPromoted =
    stage === 'AWSPENDING' &&
    secret !== undefined &&
    (areAccepted || (options.force === true && (await isRejectionPassed(shell, rejecting, options))));
  if (isPromoted) {
    // Fails if another operator changed the secret first. AWS makes the old version AWSPREVIOUS.
    await secrets.makeCurrent(secret, version, services);
    // AWS leaves AWSPENDING on the promoted version, as if it still waited. A failure to remove it has no effect.
    await secrets.moveStage(options.client, 'AWSPENDING', version).catch(() => undefined);
  }
  const next = {
    promoted: areAccepted ? TAKES_EFFECT : `Promoted by --force. ${TAKES_EFFECT} client rollback undoes it.`,
    AWSPENDING: `It stays pending, and does not affect callers. ${rejecting.length > 0 ? ALL_THE_SAME : TRY_AGAIN}`,
    AWSCURRENT: `It is the first version, so AWS made it current at once${areAccepted ? CALLABLE : UNUSED}`,
  }[isPromoted ? 'promoted' : stage];
  printOutcome(shell, options, { version, stage: isPromoted ? 'AWSCURRENT' : stage, checks }, next);
  if (!areAccepted && !isPromoted) shell.exitCode = 1;
}

/** Confirms the use of a rejected credential, which `--force` and `--yes` do not imply. */
async function isRejectionPassed(
  shell: Shell,
  rejecting: readonly PairCheck[],
  { client, acceptRejected }: ClientOptions & ForceOptions,
): Promise<boolean> {
  if (rejecting.length === 0 || acceptRejected) return true;
  if (!isTerminal(shell)) return false;
  const names = rejecting.map(({ service }) => service).join(', ');
  talk(shell, `${names} rejected it: once it is current, ${client} works only with the previous version, if any.`);
  return isYes(shell, 'Promote the rejected credential?');
}

/** Writes the outcome on stdout, its meaning and the next step on stderr. */
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

const TAKES_EFFECT =
  'The broker uses it within 60 s; if the event of Secrets Manager is lost, with the next check or renewal of a token.';
const ROLLED_BACK = `${TAKES_EFFECT} The version that was current is now AWSPREVIOUS; another rollback undoes this.`;
const ALL_THE_SAME = '--force --accept-rejected promotes it anyway.';
const TRY_AGAIN = 'client promote tries it again; --force promotes it unless a service rejects it.';
const CALLABLE = '. Callers get tokens as soon as an access rule allows it.';
const UNUSED = '; no caller had a token of the client before. client check tries it again.';
