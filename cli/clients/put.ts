import { randomUUID } from 'node:crypto';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { CommandFailure, isFailure } from '../../client/commands/failure.ts';
import {
  addConnectionOptions,
  type ConnectionOptions,
  connect,
  parseName,
  withoutValues,
} from '../../client/commands/options.ts';
import { note } from '../../client/commands/output.ts';
import type { Shell } from '../../client/commands/shell.ts';
import { servicesOf } from '../../functions/broker/pair.ts';
import type { Redacted } from '../../functions/broker/redacted.ts';
import { secretName } from '../../functions/vocabulary.ts';
import { LOCAL_ENVIRONMENT } from '../../lib/settings/names.ts';
import { askInTurn, findingOf, type PairCheck } from '../shared/checks.ts';
import {
  type ClientSecret,
  firstExpiry,
  servicesChanges,
  servicesMissing,
  versionWith,
} from '../shared/client-secret.ts';
import { type ClientOptions, operate } from '../shared/operate.ts';
import { findSecret, openSecrets, type Secrets, stateFailure } from '../shared/secrets.ts';
import { checkService, configuredServices, settingsOf } from '../shared/settings.ts';
import { addForceOptions, conclude, conditionOf, type ForceOptions } from './conclude.ts';
import { addChangeOptions, type ChangeOptions, isConfirmed, isTerminal } from './confirm.ts';
import { headersOf, prepareCredential, readAs, readCredential } from './credential.ts';

/** Adds `client put`, which stores a credential next to the current version, checks it, and only then promotes it. */
export function addPutCommand(parent: Command, shell: Shell): void {
  const key = new Option('--kms-key-id <key>', 'the key that encrypts a new secret').env('TOKEN_BROKER_KMS_KEY_ID');
  const command = addChangeOptions(addConnectionOptions(parent.command('put')))
    .description('Store a new credential, check it on each service of the client, and promote it if all accept it.')
    .argument('<client>', 'the client', parseName)
    .configureOutput({
      outputError: (text, write) => write(/^error: too many arg/.test(text) ? IN_HISTORY : withoutValues(text)),
    })
    .option('--create', 'make a new client')
    .option('--services <names>', 'the services of the client, separated by commas, or all', parseServices)
    .option('--expires <day>', 'the day (UTC) on which the credential ends, such as 2027-03-01', parseDay);
  addForceOptions(command).addOption(key).addHelpText('after', HELP);
  operate<PutOptions>(command, shell, ['SECRETS_MANAGER'], (options) => put(shell, options, command));
}

const IN_HISTORY =
  'error: too many arguments: a secret among them is in the history of your shell now, so replace it at the service\n';

interface PutOptions extends ClientOptions, ConnectionOptions, ChangeOptions, ForceOptions {
  /** Names with spaces between, or `all`, as in the tag. */
  readonly services?: string;
  readonly create?: boolean;
  /** Epoch seconds. */
  readonly expires?: number;
  readonly kmsKeyId?: string;
}

function parseServices(text: string): string {
  return [...new Set(text.split(',').map((name) => parseName(name.trim())))].join(' ');
}

/** Reads the beginning of a day, so that the warnings come early. */
function parseDay(text: string): number {
  const day = /^\d{4}-\d\d-\d\d$/.test(text) ? Date.parse(text) : Number.NaN;
  if (day > Date.now() && new Date(day).toISOString().startsWith(text)) return day / 1_000;
  throw new InvalidArgumentError('Give a day to come, such as 2027-03-01.');
}

async function put(shell: Shell, options: PutOptions, command: Command): Promise<void> {
  const { environment, client, services: said, create, expires, yes, dryRun, kmsKeyId } = options;
  const broker = connect(shell, options, command);
  for (const service of servicesOf(said, [])) checkService(shell, service, environment, command);
  const secrets = openSecrets(shell, options);
  // A typo must neither create a client nor replace another client's credential.
  const before = create ? await refuseTaken(secrets, client) : await findSecret(secrets, client, NOTHING_STORED);
  if (before?.deletedAt !== undefined) throw stateFailure('secret-deleted');
  if (before === undefined && !kmsKeyId && environment !== LOCAL_ENVIRONMENT) command.error(KEY_MISSING);

  const configured = configuredServices(shell, environment);
  const tagged = before?.servicesTag ?? 'all';
  // Does not read a credential that would not be stored. A dry run judges it like the run.
  const isRead = yes || isTerminal(shell) || (dryRun && !shell.stdin.isTTY);
  const planned = said ?? tagged;
  const headers = headersOf(shell, environment, servicesOf(planned, configured));
  const typed = isRead ? await readCredential(shell, headers, dryRun) : undefined;
  const prepared = typed && prepareCredential(typed, said, { shell, environment, configured, tagged, expires });
  const names = servicesOf(prepared?.services ?? planned, configured);
  if (names.length === 0) throw servicesMissing(client);
  const pairs = names.map((service) => ({ client, service }));
  const changes = [
    plannedChange(before, names.join(', '), options),
    ...(before ? servicesChanges(shell, before, pairs, environment) : []),
    ...(headers.length > 0 ? [NEEDS_HEADERS] : []),
    ...(prepared?.blanks ?? []),
    ...expiryChanges(prepared?.expiries, expires, before, command),
    ...(before && prepared ? await clientIdChanges(shell, secrets, prepared.text, names, options) : []),
  ];
  if (!(await isConfirmed(shell, changes, options, command, before)) || prepared === undefined) return;

  const version = randomUUID();
  note(shell, `Storing version ${version} of ${secretName(environment, client)}.`);
  try {
    const { text, services, expiries } = prepared;
    const stored = { text, services, expiries, versionId: version };
    const stage = await (before ? secrets.add(before, stored) : secrets.create(client, stored, kmsKeyId));
    note(shell, `Checking it on ${names.join(', ')}.`);
    const checks = await askInTurn(shell, broker, pairs, stage, options);
    await conclude(shell, secrets, options, { version, stage, checks }, before, services);
    noteEncoding(shell, checks, prepared.differs);
  } catch (error) {
    noteStored(shell, client, error, versionWith('AWSCURRENT', before) === undefined);
    throw error;
  }
}

/** Names a setting that may be the fault for a credential that a service rejects. */
function noteEncoding(shell: Shell, checks: readonly PairCheck[], differs: boolean): void {
  const isRejected = checks.some((check) => findingOf(check) === 'rejected');
  if (isRejected && differs) note(shell, 'This credential differs under the two values of basicEncoding.');
}

/** Names the commands for a version that may be stored. After `secret-changed` it may be another operator's. */
function noteStored(shell: Shell, client: string, error: unknown, isFirst: boolean): void {
  if (isFailure(error) && error.type === 'secret-changed') return;
  const state = isFirst ? 'A first version is in use, untried' : 'A pending version affects no caller';
  const next = isFirst ? `client check ${client} tries it` : `client promote ${client} checks and promotes it`;
  note(shell, `client show ${client} shows whether the version is stored, and its stage. ${state}:`);
  note(shell, `${next}, another client put ${client} replaces it.`);
}

const NEEDS_HEADERS =
  'stores headers that version 1.1.0 of the broker does not send: wait until no version of 1.1.0 has calls (release list), or the service may reject the credential';

const EXPIRIES_DIFFER = 'error: --expires and client_secret_expires_at in the JSON differ: give one of them';

const NOTHING_STORED = 'Nothing was stored. --create makes a new client.';

/** Fails if a client of this name exists. Ignores case. */
async function refuseTaken(secrets: Secrets, client: string): Promise<undefined> {
  const isTwin = (secret: ClientSecret) => secret.client.toLowerCase() === client.toLowerCase();
  // Without the right to list, only the exact name is checked.
  const twin = (await secrets.find(client)) ?? (await secrets.list().catch(() => [])).find(isTwin);
  if (twin === undefined) return;
  if (twin.deletedAt !== undefined) throw stateFailure('secret-deleted');
  const advice = 'Nothing was stored. client put without --create rotates its credential.';
  throw new CommandFailure('client-exists', `There is a client "${twin.client}" already`, advice);
}

const KEY_MISSING =
  'error: a new secret needs the key of the environment: pass --kms-key-id, or set TOKEN_BROKER_KMS_KEY_ID to the output KeyArn of its stack';

function plannedChange(before: ClientSecret | undefined, where: string, options: PutOptions) {
  const { environment, client } = options;
  const secret = secretName(environment, client);
  if (before === undefined)
    return `makes the new client ${client} on ${where}: the secret ${secret}, whose first version is in use at once, untried`;
  // AWS makes the first version of a secret current, even when it is stored as AWSPENDING.
  if (versionWith('AWSCURRENT', before) === undefined)
    return `stores the first version of the secret ${secret}, in use at once, untried, and checks it on ${where}`;
  return `stores another version of the secret ${secret}, checks it on ${where}, and promotes it ${conditionOf(options)}`;
}

/**
 * Describes the expiries of the credential, and the expiry of the current version that the credential lacks. Fails as
 * wrong usage when `--expires` contradicts the credential.
 */
function expiryChanges(
  read: string | undefined,
  expires: number | undefined,
  before: ClientSecret | undefined,
  command: Command,
): readonly string[] {
  const said = expires === undefined ? read : new Date(expires * 1_000).toISOString();
  const expiries = read ?? said;
  if (expiries === undefined) return [];
  if (expiries !== said) command.error(EXPIRIES_DIFFER);
  if (expiries.includes('malformed')) return ['stores an end that is no number of seconds: the broker ignores it'];
  const isPast = Date.parse(expiries.split(' ')[0] ?? '') <= Date.now();
  if (expiries !== 'never') return [`stores the end of the credential: ${expiries}${isPast ? ', which is past' : ''}`];
  const expiry = before === undefined ? '-' : firstExpiry(before);
  return expiry === '-' ? [] : [`stores no end: that of the current version is ${expiry}, and --expires is missing`];
}

/** Reports whether the client_id differs from the current version's, and shows neither of them. */
async function clientIdChanges(
  shell: Shell,
  secrets: Secrets,
  text: Redacted,
  names: readonly string[],
  { environment, client }: PutOptions,
): Promise<readonly string[]> {
  // The trail raises an alarm for each read by another identity than the broker's, also for a denied read.
  const isWatched = (settingsOf(environment)?.trail ?? 'off') !== 'off';
  const used = isWatched ? undefined : await secrets.readCurrent(client);
  if (used === undefined) return ['may change the client_id: the current version cannot be read'];
  const idIn = (from: Redacted, service: string) => {
    try {
      return readAs(from, service, { shell, environment }).clientId.reveal();
    } catch (error) {
      if (!(error instanceof CommandFailure)) throw error;
      return undefined;
    }
  };
  // The current version may have no client_id for a new service.
  const isOther = (service: string) => ![undefined, idIn(text, service)].includes(idIn(used, service));
  return names.some(isOther) ? ['changes the client_id: it differs from that of the current version'] : [];
}

const HELP = `
It prints what it will change, and asks. At a terminal it asks for the client_id and the secret, which is not shown;
otherwise it reads them from standard input and needs --yes:
  {"client_id": "…", "secret": "…"}    also client_secret or password for secret, username for client_id
A client_secret_expires_at (epoch seconds) in it, at the top or in the entry of a service, is the credential's end.`;
