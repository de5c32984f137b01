import type { Command } from 'commander';
import { CommandFailure, withNames } from '../../client/commands/failure.ts';
import { parseName } from '../../client/commands/options.ts';
import { note, timeText } from '../../client/commands/output.ts';
import type { Shell } from '../../client/commands/shell.ts';
import { type PairState, readPairState } from '../../functions/aws/pair-table/pair-state.ts';
import { pairKey, servicesOf } from '../../functions/broker/pair.ts';
import { FINDINGS, findingAdvice } from '../../functions/vocabulary.ts';
import { LOCAL_ENVIRONMENT } from '../../lib/settings/names.ts';
import { awsFailure, isRefused } from '../shared/ask-aws.ts';
import { mapConcurrently, noteProgress, shortVersion } from '../shared/checks.ts';
import {
  type ClientSecret,
  checkedPairs,
  type DatedSecret,
  firstExpiry,
  hasService,
  noteCredentials,
  versionWith,
} from '../shared/client-secret.ts';
import { addAwsOptions, answer, awsRegion, type CommandOptions, operate } from '../shared/operate.ts';
import { findSecret, openSecrets, type Secrets } from '../shared/secrets.ts';
import { tableText } from '../shared/table.ts';
import { parsePolicy } from './disable.ts';
import { openPairs } from './pair-changes.ts';

/** Adds `client list` and `client show`, which show the states of pairs by their records, and the secrets' versions. */
export function addListCommands(parent: Command, shell: Shell): void {
  const list = addAwsOptions(parent.command('list'))
    .description('Show state, last proof and token of each pair, and the versions of the credential, never a value.')
    .option('--service <name>', 'the clients of this service only', parseName)
    .addHelpText('after', STATES);
  const show = addAwsOptions(parent.command('show'))
    .description('Show one client as client list does, and as it is now.')
    .argument('<client>', 'the client', parseName)
    .addHelpText('after', STATES);
  for (const command of [list, show]) {
    operate<ListOptions>(command, shell, ['SECRETS_MANAGER', 'DYNAMODB'], (options) => showClients(shell, options));
  }
}

async function showClients(shell: Shell, options: ListOptions): Promise<void> {
  const { environment, client, service } = options;
  const secrets = openSecrets(shell, options);
  const all = client === undefined ? await secrets.list() : [await findSecret(secrets, client)];
  const some = all.filter((secret) => service === undefined || hasService(secret, service));
  const dated = await mapConcurrently(some, secrets.dated, noteProgress(shell, 'Looking at the versions'));
  const states = await readStates(shell, some, secrets, options);
  const clients = dated.map((row) => ({ ...row, pairs: states?.filter((pair) => pair.client === row.client) }));
  const shown = clients.map(members);
  answer(shell, options, client === undefined ? { clients: shown } : { ...shown[0] }, textOf(shell, clients));
  if (client === undefined && environment !== LOCAL_ENVIRONMENT) note(shell, STALE);
  if (clients.length === 0) note(shell, EMPTY);
  noteMalformed(shell, clients, environment);
  noteCredentials(shell, clients, environment);
}

const EMPTY = 'There is no client yet: is this the right environment? client put --create makes a client.';

interface ListOptions extends CommandOptions {
  readonly client?: string;
  readonly service?: string;
}

interface Listed extends DatedSecret {
  /** `undefined` when the table cannot be read. */
  readonly pairs: readonly Found[] | undefined;
}

interface Found extends PairState {
  /** Why the secret is malformed, and what helps. */
  readonly detail?: string | undefined;
}

function members(secret: Listed) {
  const { client, servicesTag, versions, expiriesOf, deletedAt, dates, pairs } = secret;
  return {
    client,
    services: servicesTag === undefined || servicesTag === 'all' ? 'all' : servicesOf(servicesTag, []),
    versions: versions.map(({ versionId, stages }) => {
      return { version: versionId, stages, stored_at: iso(dates.get(versionId)), ends: expiriesOf.get(versionId) };
    }),
    deleted_at: iso(deletedAt),
    pairs:
      pairs?.map(({ service, state, since, until, detail, trial, provenAt, tokenExpiresAt }) => ({
        ...{ service, state, since: iso(since), until: iso(until), detail },
        proven_at: iso(provenAt),
        token_expires_at: iso(tokenExpiresAt),
        trial: trial && { version: trial.version, finding: trial.finding, checked_at: iso(trial.at) },
      })) ?? null,
  };
}

/** Returns a line for each client with the versions of its secret, and below it a line for each pair. */
function textOf(shell: Shell, clients: readonly Listed[]): string {
  const rows = clients.flatMap((secret) => {
    const { pairs = [], servicesTag = 'all', deletedAt } = secret;
    const heading = [headingOf(shell, secret)];
    if (pairs.length === 0) return [heading, [`  ${servicesTag.trim() || '-'}`, '-', '-', '-']];
    const lines = pairs.map((pair) => {
      const state = deletedAt === undefined ? stateText(pair, shell) : 'deleted';
      return [`  ${pair.service}`, state, timeText(pair.provenAt, shell), timeText(pair.tokenExpiresAt, shell)];
    });
    return [heading, ...lines];
  });
  return tableText(['CLIENT, SERVICE', 'STATE', 'PROVEN AT', 'TOKEN UNTIL'], rows, shell);
}

/** Returns the client and its versions: `acme: current 0123abcd, stored …; pending 4567cdef (rejected at … by one)`. */
function headingOf(shell: Shell, secret: Listed): string {
  const version = (name: string, id: string | undefined) =>
    `${name} ${shortVersion(id)}, stored ${timeText(secret.dates.get(id ?? ''), shell)}`;
  const pending = versionWith('AWSPENDING', secret);
  const previous = versionWith('AWSPREVIOUS', secret);
  const expiry = firstExpiry(secret);
  const time = Date.parse(expiry);
  const trials = (secret.pairs ?? []).flatMap(({ service, trial }) => {
    return trial && trial.version === pending ? [`${trial.finding} at ${timeText(trial.at, shell)} by ${service}`] : [];
  });
  const parts = [
    ...(secret.deletedAt === undefined ? [] : [`to be deleted on ${timeText(secret.deletedAt, shell)}`]),
    version('current', versionWith('AWSCURRENT', secret)),
    ...(expiry === '-' ? [] : [`ends ${Number.isNaN(time) ? expiry : timeText(time, shell)}`]),
    ...(pending === undefined ? [] : [`${version('pending', pending)} (${trials.join(', ') || 'unproven'})`]),
    ...(previous === undefined ? [] : [version('previous', previous)]),
  ];
  return `${secret.client}: ${parts.join('; ')}`;
}

/** Returns the state in a few words: `rejected since 2026-01-01T00:00:00Z`. */
function stateText({ state, since, until }: PairState, shell: Shell): string {
  const time = since ?? until;
  if (time === undefined) return state;
  return `${state} ${until === undefined ? 'since' : 'until'} ${timeText(time, shell)}`;
}

function iso(time: number | undefined): string | undefined {
  return time === undefined ? undefined : new Date(time).toISOString();
}

/** Reads the states of these clients' pairs. Prints why they are unreadable, and then returns `undefined`. */
async function readStates(shell: Shell, found: readonly ClientSecret[], secrets: Secrets, options: ListOptions) {
  const { environment, service } = options;
  const { table, ...admin } = openPairs(shell, options);
  try {
    const areDenied = await mapConcurrently(found, (secret) => isSecretDenied(secrets, secret));
    const pairs = found.flatMap((secret, index) => {
      const own = checkedPairs(shell, secret, environment).filter((pair) => pair.service === (service ?? pair.service));
      return own.map((pair) => ({ pair, current: versionWith('AWSCURRENT', secret), isDenied: areDenied[index] }));
    });
    const states = await mapConcurrently(pairs, async ({ pair, current, isDenied }) => {
      const stopped: PairState = { ...pair, state: 'disabled', since: undefined, until: undefined };
      // The policy of its secret stops a client also while the table cannot be read.
      const keep = (error: unknown) => (isDenied && !shell.signal.aborted ? stopped : Promise.reject(error));
      const read = await readPairState(admin, pair, current).catch(keep);
      return { ...read, ...(isDenied && read.state !== 'disabled' && stopped), current };
    });
    return await withFindings(shell, states, table);
  } catch (error) {
    const failure =
      error instanceof CommandFailure ? error : awsFailure(error, 'dynamodb:GetItem', awsRegion(shell, options));
    if (failure.type === 'aborted') throw failure;
    note(shell, `The states of the pairs cannot be read: ${failure.message}`);
    // A script sees that the list is incomplete.
    shell.exitCode = 1;
    return undefined;
  }
}

/** Returns whether the secret's own policy stops the client. A client without a flag can be stopped, too. */
async function isSecretDenied(secrets: Secrets, { client }: ClientSecret): Promise<boolean> {
  const found = await secrets.readPolicy(client).catch((error) => {
    // A list may not show the mark for deletion yet.
    if (!isRefused(error) || error.type !== 'secret-deleted') throw error;
  });
  return parsePolicy(found?.policy).isDenied;
}

/** Replaces `unproven` by the finding that health remembers of this version. */
async function withFindings(
  shell: Shell,
  states: readonly (PairState & { readonly current: string | undefined })[],
  table: ReturnType<typeof openPairs>['table'],
): Promise<readonly Found[]> {
  const services = new Set(states.flatMap(({ state, service }) => (state === 'unproven' ? [service] : [])));
  if (services.size === 0) return states;
  // Loads slowly, and most lists do not need it.
  const { createNotificationTable } = await import('../../functions/health/notifications.ts');
  const memories = createNotificationTable(table);
  const read = async (service: string) => [...(await memories.read(service)).entries];
  const unread = (error: Error) => void note(shell, `What health found last cannot be read (${error.message}).`);
  const entries = new Map((await Promise.all([...services].map(read)).catch(unread))?.flat());
  return states.map(({ current, ...pair }) => {
    const entry = entries.get(pairKey(pair));
    const isFound = pair.state === 'unproven' && entry && [undefined, current].includes(entry.version);
    const finding = FINDINGS.find((finding) => finding === entry?.condition);
    if (!isFound || finding === undefined || finding === 'accepted') return pair;
    return { ...pair, state: finding, since: entry.since, detail: entry.detail };
  });
}

/** Prints the reasons of malformed secrets, with the command that helps first. */
function noteMalformed(shell: Shell, clients: readonly Listed[], environment: string): void {
  for (const secret of clients) {
    const mayRollBack = versionWith('AWSPREVIOUS', secret) !== undefined;
    const advice = withNames(findingAdvice('secret-malformed', { mayRollBack }), { ...secret, environment });
    for (const [detail = '', pairs] of Map.groupBy(secret.pairs ?? [], ({ detail }) => detail)) {
      const names = pairs.map(({ service }) => service).join(', ');
      if (detail !== '') note(shell, `${secret.client} on ${names}: ${detail} ${advice}`);
    }
  }
}

/** @see https://docs.aws.amazon.com/secretsmanager/latest/apireference/API_ListSecrets.html */
const STALE =
  'AWS may list clients and versions as they were five minutes ago; client show reads a client as it is now.';

const STATES = `
STATE is what the table says now: ok (the current version was accepted), unproven (not tried), disabled (by its flag or
the policy of its secret), rejected, held (the version is not sent again before the time), paused (nothing is sent before
the time), or the last finding of health.
PROVEN AT is the last proof, TOKEN UNTIL the expiry of the token in use.`;
