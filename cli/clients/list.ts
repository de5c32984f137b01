import type { Command } from 'commander';
import { parseName } from '../../client/commands/options.ts';
import { note, printJson, timeText } from '../../client/commands/output.ts';
import type { Shell } from '../../client/commands/shell.ts';
import { type PairState, readPairState } from '../../functions/aws/pair-table/pair-state.ts';
import { servicesOf } from '../../functions/broker/pair.ts';
import { SECRET_STAGES } from '../../functions/vocabulary.ts';
import { LOCAL_ENVIRONMENT } from '../../lib/settings/names.ts';
import { awsFailure } from '../shared/ask-aws.ts';
import { awsRegion, type CommandOptions } from '../shared/aws-config.ts';
import { mapConcurrently, noteProgress, shortVersion } from '../shared/checks.ts';
import {
  type ClientSecret,
  checkedPairs,
  type DatedSecret,
  firstExpiry,
  hasService,
  isOld,
  noteCredentials,
  versionWith,
} from '../shared/client-secret.ts';
import { addAwsOptions, type ClientOptions, operate } from '../shared/operate.ts';
import { findSecret, openSecrets, type Secrets } from '../shared/secrets.ts';
import { tableText } from '../shared/table.ts';
import { openPairs } from './pair-changes.ts';

/** Adds `client list` and `client show`, which show the states of pairs by their records, and the secrets' versions. */
export function addListCommands(parent: Command, shell: Shell): void {
  addAwsOptions(parent.command('list'))
    .description('Show state, last proof and token of each pair, and the versions of the credential, never a value.')
    .option('--service <name>', 'the clients of this service only', parseName)
    .addHelpText('after', STATES)
    .action(
      operate<ListOptions>(shell, ['SECRETS_MANAGER', 'DYNAMODB'], async (options) => {
        const { environment, service, json } = options;
        const secrets = openSecrets(shell, options);
        const some = (await secrets.list()).filter((secret) => service === undefined || hasService(secret, service));
        const clients = await lookAt(shell, some, secrets, options);
        if (json) printJson(shell, { environment, clients: clients.map(members) });
        else shell.stdout.write(textOf(shell, clients, options));
        if (environment !== LOCAL_ENVIRONMENT) note(shell, STALE);
        if (clients.length === 0)
          note(shell, 'There is no client yet: is this the right environment? client put --create makes a client.');
        noteCredentials(shell, clients, environment);
      }),
    );

  addAwsOptions(parent.command('show'))
    .description('Show one client, with every version of its credential, never a value.')
    .argument('<client>', 'the client', parseName)
    .addHelpText('after', STATES)
    .action(
      operate<ListOptions & ClientOptions>(shell, ['SECRETS_MANAGER', 'DYNAMODB'], async (options) => {
        const { environment, client, json } = options;
        const secrets = openSecrets(shell, options);
        const shown = await lookAt(shell, [await findSecret(secrets, client)], secrets, options);
        if (json) printJson(shell, { environment, ...shown.map(members)[0] });
        else shell.stdout.write(`${textOf(shell, shown, options)}\n${shown.map((row) => versionsText(shell, row))}`);
        noteCredentials(shell, shown, environment);
      }),
    );
}

interface ListOptions extends CommandOptions {
  readonly service?: string;
}

interface Listed extends DatedSecret {
  /** `undefined` when the table cannot be read. */
  readonly pairs: readonly PairState[] | undefined;
}

async function lookAt(shell: Shell, found: readonly ClientSecret[], secrets: Secrets, options: ListOptions) {
  const date = async (secret: ClientSecret) => ({ ...secret, dates: await secrets.versionDates(secret) });
  const clients = await mapConcurrently(found, date, noteProgress(shell, 'Looking at the versions'));
  const states = await readStates(shell, found, options);
  return clients.map((row): Listed => ({ ...row, pairs: states?.filter(({ client }) => client === row.client) }));
}

function members({ client, servicesTag, versions, expiriesOf, deletedAt, dates, pairs }: Listed) {
  return {
    client,
    services: servicesTag === undefined || servicesTag === 'all' ? 'all' : servicesOf(servicesTag, []),
    versions: versions.map(({ versionId, stages }) => {
      return { version: versionId, stages, stored_at: iso(dates.get(versionId)), ends: expiriesOf.get(versionId) };
    }),
    deleted_at: iso(deletedAt),
    pairs: pairs?.map(({ service, state, since, until, provenAt, tokenExpiresAt }) => ({
      ...{ service, state, since: iso(since), until: iso(until) },
      proven_at: iso(provenAt),
      token_expires_at: iso(tokenExpiresAt),
    })),
  };
}

function textOf(shell: Shell, clients: readonly Listed[], { environment }: ListOptions): string {
  // Most credentials have no expiry.
  const haveExpiries = clients.some((secret) => firstExpiry(secret) !== '-');
  const rows = clients.flatMap((secret) => {
    const { client, pairs = [], servicesTag, deletedAt } = secret;
    const current = versionWith('AWSCURRENT', secret);
    const stored = `${timeText(secret.dates.get(current ?? ''), shell)}${isOld(secret, environment) ? ' (old)' : ''}`;
    const expiry = firstExpiry(secret);
    const time = Date.parse(expiry);
    const expiries = haveExpiries ? [Number.isNaN(time) ? expiry : timeText(time, shell)] : [];
    const credential = [shortVersion(current), shortVersion(versionWith('AWSPENDING', secret)), stored, ...expiries];
    const gone = deletedAt === undefined ? undefined : `to be deleted on ${timeText(deletedAt, shell)}`;
    if (pairs.length === 0)
      return [[client, (servicesTag ?? 'all').trim() || '-', gone ?? '-', '-', '-', ...credential]];
    return pairs.map((pair) => {
      const token = [timeText(pair.provenAt, shell), timeText(pair.tokenExpiresAt, shell)];
      return [client, pair.service, gone ?? stateText(pair, shell), ...token, ...credential];
    });
  });
  const header = ['CLIENT', 'SERVICE', 'STATE', 'PROVEN AT', 'TOKEN UNTIL', 'CURRENT', 'PENDING', 'STORED AT'];
  return tableText(haveExpiries ? [...header, 'ENDS'] : header, rows, shell);
}

/** Returns the state in a few words: `rejected since 2026-01-01T00:00:00Z`. */
function stateText({ state, since, until }: PairState, shell: Shell): string {
  const time = since ?? until;
  if (time === undefined) return state;
  return `${state} ${until === undefined ? 'since' : 'until'} ${timeText(time, shell)}`;
}

function versionsText(shell: Shell, secret: Listed): string {
  const rows = SECRET_STAGES.flatMap((stage) => {
    const version = versionWith(stage, secret);
    if (version === undefined) return [];
    return [[stage, version, timeText(secret.dates.get(version), shell), secret.expiriesOf.get(version) ?? '-']];
  });
  return tableText(['STAGE', 'VERSION', 'STORED AT', 'ENDS'], rows, shell);
}

function iso(time: number | undefined): string | undefined {
  return time === undefined ? undefined : new Date(time).toISOString();
}

/** Reads the states of these clients' pairs. Prints why the table is unreadable, and then returns `undefined`. */
async function readStates(shell: Shell, secrets: readonly ClientSecret[], options: ListOptions) {
  const { environment, service } = options;
  const pairs = secrets.flatMap((secret) => {
    const own = checkedPairs(shell, secret, environment).filter((pair) => pair.service === (service ?? pair.service));
    return own.map((pair) => ({ pair, current: versionWith('AWSCURRENT', secret) }));
  });
  const admin = openPairs(shell, options);
  try {
    return await mapConcurrently(pairs, ({ pair, current }) => readPairState(admin, pair, current));
  } catch (error) {
    const failure = awsFailure(error, 'dynamodb:GetItem', awsRegion(shell, options));
    if (failure.type === 'aborted') throw failure;
    note(shell, `The states of the pairs cannot be read: ${failure.message}`);
    return undefined;
  }
}

/** @see https://docs.aws.amazon.com/secretsmanager/latest/apireference/API_ListSecrets.html */
const STALE =
  'AWS may list clients and versions as they were five minutes ago; client show reads a client as it is now.';

const STATES = `
STATE is what the table says now: ok (the current version was accepted), unproven (not yet), disabled, rejected, held (the
version is not sent again before the time), paused (nothing is sent before the time). PROVEN AT is the last proof, TOKEN
UNTIL the expiry of the token in use, STORED AT when the current version was stored, ENDS when its issuer ends it.`;
