import { type Command, Option } from 'commander';
import { CommandFailure } from '../../client/commands/failure.ts';
import { addConnectionOptions, type ConnectionOptions, connect, parseName } from '../../client/commands/options.ts';
import { note, printJson, timeText } from '../../client/commands/output.ts';
import type { Shell } from '../../client/commands/shell.ts';
import type { Pair } from '../../functions/broker/pair.ts';
import { SECRET_STAGES, type SecretStage, secretName } from '../../functions/vocabulary.ts';
import { askInTurn, checkMembers, findingOf, printChecks } from '../shared/checks.ts';
import { checkedPairs, provablePairs, servicesChanges, versionWith } from '../shared/client-secret.ts';
import { answer, type ClientOptions, checkEndpoints, operate } from '../shared/operate.ts';
import { findSecret, openSecrets, type Secrets, secretChanged, stateFailure } from '../shared/secrets.ts';
import { addForceOptions, conclude, conditionOf, type ForceOptions, printOutcome, TAKES_EFFECT } from './conclude.ts';
import { addChangeCommand, addChangeOptions, type ChangeOptions, isConfirmed } from './confirm.ts';

/** Adds `client check`, `promote` and `rollback`, which try a credential and change its current version. */
export function addVersionCommands(parent: Command, shell: Shell): void {
  const check = addConnectionOptions(parent.command('check'))
    .description('Let the broker check whether the credential of a client works; needs the operation check.')
    .argument('<client>', 'the client', parseName)
    .option('--service <name>', 'on this service only', parseName)
    .addOption(new Option('--stage <stage>', 'the version').choices(SECRET_STAGES).default('AWSCURRENT'));
  operate<CheckOptions>(check, shell, [], async (options) => {
    const { environment, client, service, stage, json } = options;
    if (service === undefined) checkEndpoints(shell, options, ['SECRETS_MANAGER'], check);
    const broker = connect(shell, options, check);
    const pairs = service === undefined ? await pairsOf(shell, options) : [{ client, service }];
    const checks = await askInTurn(shell, broker, pairs, stage, options);
    if (json) printJson(shell, { environment, client, stage, checks: checks.map((check) => checkMembers(check)) });
    else printChecks(shell, checks, environment);
    if (!checks.every((check) => findingOf(check) === 'accepted')) shell.exitCode = 1;
  });

  const promote = addForceOptions(addChangeOptions(addConnectionOptions(parent.command('promote'))))
    .description('Make the pending version current, if every service accepts it.')
    .argument('<client>', 'the client', parseName);
  operate<PromoteOptions>(promote, shell, ['SECRETS_MANAGER'], async (options) => {
    const { environment, client, force } = options;
    const broker = connect(shell, options, promote);
    const secrets = openSecrets(shell, options);
    const { secret, version } = await findVersion(secrets, client, 'AWSPENDING');
    const pairs = provablePairs(shell, secret, environment, version);
    const services = servicesChanges(shell, secret, pairs, environment);
    // The check decides, not a person. Confirm only a forced promotion or a dry run.
    if (force || options.dryRun) {
      const changes = [`makes version ${version} of ${client} current, ${conditionOf(options)}`, ...services];
      if (!(await isConfirmed(shell, changes, options, promote, secret))) return;
    } else for (const change of services) note(shell, `Promoting it ${change}.`);
    const checks = await askInTurn(shell, broker, pairs, 'AWSPENDING', options);
    await conclude(shell, secrets, options, { version, stage: 'AWSPENDING', checks }, secret);
  });

  const rollback = addChangeCommand(parent, 'rollback').description(
    'Make the previous version current again, at once and without checking it.',
  );
  operate<ClientChange>(rollback, shell, ['SECRETS_MANAGER'], async (options) => {
    const { client, environment } = options;
    const secrets = openSecrets(shell, options);
    const { secret, version } = await findVersion(secrets, client, 'AWSPREVIOUS');
    const current = versionWith('AWSCURRENT', secret);
    const { dates } = await secrets.dated(secret);
    const storedAt = (id = '') => dates.get(id) ?? 0;
    const expiry = secret.expiriesOf.get(version);
    const changes = [
      `makes version ${version} of ${client} current, unchecked, in place of ${current}`,
      ...(expiry === undefined ? [] : [`brings back a credential with an end: ${expiry}`]),
      ...(storedAt(version) > storedAt(current) ? ['undoes a rollback: it is newer than the current version'] : []),
      ...servicesChanges(shell, secret, checkedPairs(shell, secret, environment, version), environment),
    ];
    if (!(await isConfirmed(shell, changes, options, rollback, secret))) return;
    // AWS would also make a version current that another operator has discarded meanwhile.
    if ((await findVersion(secrets, client, 'AWSPREVIOUS')).version !== version) throw secretChanged();
    await secrets.makeCurrent(secret, version);
    printOutcome(shell, options, { version, stage: 'AWSCURRENT', checks: [] }, ROLLED_BACK);
  });
}

interface CheckOptions extends ClientOptions, ConnectionOptions {
  readonly service?: string;
  readonly stage: SecretStage;
}

async function pairsOf(shell: Shell, options: CheckOptions): Promise<readonly Pair[]> {
  const secret = await findSecret(openSecrets(shell, options), options.client);
  return provablePairs(shell, secret, options.environment, versionWith(options.stage, secret));
}

type ClientChange = ClientOptions & ChangeOptions;
type PromoteOptions = ClientChange & ConnectionOptions & ForceOptions;

/** Finds the version that has a stage and is not current. */
async function findVersion(secrets: Secrets, client: string, stage: 'AWSPENDING' | 'AWSPREVIOUS') {
  const secret = await findSecret(secrets, client);
  const version = versionWith(stage, secret);
  if (version !== undefined) return { secret, version };
  throw new CommandFailure(
    'version-missing',
    `No version of ${client} ${stage === 'AWSPENDING' ? 'waits to be promoted' : 'precedes the current version'} (${stage})`,
    `client show ${client} shows the versions; client put stores another version.`,
  );
}

const ROLLED_BACK = `It is unchecked: client check tries it. ${TAKES_EFFECT} The version that was current is now AWSPREVIOUS; another rollback undoes this.`;

/** Adds `client discard`, `delete` and `restore`, which discard a version, or mark a secret for deletion. */
export function addDeletionCommands(parent: Command, shell: Shell): void {
  const discard = addChangeCommand(parent, 'discard')
    .description('Discard the pending version of a credential, or the previous version.')
    .option('--previous', 'the previous version, after a leak: the broker never falls back to it');
  operate<ClientChange & { readonly previous?: boolean }>(discard, shell, ['SECRETS_MANAGER'], async (options) => {
    const { client, previous } = options;
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
    if (!(await isConfirmed(shell, changes, options, discard, secret))) return;
    for (const stage of stages) await secrets.moveStage(client, stage, version);
    answer(shell, options, { discarded: version }, `${client}: version ${version} is discarded\n`);
  });

  const remove = addChangeCommand(parent, 'delete').description(
    'Mark the secret of a client for deletion; it can be restored for 30 days.',
  );
  operate<ClientChange>(remove, shell, ['SECRETS_MANAGER'], async (options) => {
    const { environment, client } = options;
    const secrets = openSecrets(shell, options);
    const secret = await findSecret(secrets, client);
    if (secret.deletedAt !== undefined) throw stateFailure('secret-deleted');
    const name = secretName(environment, client);
    const changes = [`marks the secret ${name} for deletion, which client restore can undo for 30 days`];
    if (!(await isConfirmed(shell, changes, options, remove, secret))) return;
    const goneAt = await secrets.delete(client);
    const marked = `${client} is marked, to be deleted on ${timeText(goneAt.getTime())}\n`;
    answer(shell, options, { secret: name, deleted_at: goneAt.toISOString() }, marked);
    note(shell, 'The broker stops using it with its next check, and at the latest when the token in use expires.');
    note(shell, `Until then client restore ${client} undoes this.`);
  });

  const restore = addChangeCommand(parent, 'restore').description(
    'Remove the mark for deletion from the secret of a client.',
  );
  operate<ClientChange>(restore, shell, ['SECRETS_MANAGER'], async (options) => {
    const { environment, client } = options;
    const secrets = openSecrets(shell, options);
    const secret = await findSecret(secrets, client);
    const name = secretName(environment, client);
    const changes = [`removes the mark for deletion from the secret ${name}`];
    if (secret.deletedAt === undefined) note(shell, `${client} is not marked for deletion.`);
    else if (!(await isConfirmed(shell, changes, options, restore, secret))) return;
    else await secrets.restore(client);
    answer(shell, options, { secret: name }, `${client} has its secret\n`);
    note(shell, `client check ${client} shows whether its credential works.`);
  });
}
