import { DynamoDB } from '@aws-sdk/client-dynamodb';
import type { Command } from 'commander';
import { CommandFailure } from '../../../client/commands/failure.ts';
import { parseName } from '../../../client/commands/options.ts';
import { ageText, printJson, tableText, talk, talkOfProgress } from '../../../client/commands/output.ts';
import type { Shell } from '../../../client/commands/shell.ts';
import { servicesOf } from '../../../functions/broker/health/run.ts';
import { type PairRecord, withoutFutureTimes } from '../../../functions/broker/pair/record.ts';
import type { Pair } from '../../../functions/broker/pair.ts';
import { SECRET_STAGES } from '../../../functions/contract.ts';
import { tableName } from '../../../lib/settings/names.ts';
import { awsFailure } from '../shared/ask-aws.ts';
import { mapConcurrently, shortVersion } from '../shared/checks.ts';
import {
  type ClientSecret,
  checkedPairs,
  type DatedSecret,
  hasService,
  isOld,
  tellOld,
  versionWith,
} from '../shared/client-secret.ts';
import {
  addAwsOptions,
  addWatchOptions,
  awsConfig,
  awsRegion,
  type ClientOptions,
  checkService,
  isLocal,
  operate,
  type WatchOptions,
  watch,
} from '../shared/environment.ts';
import { createPairAdmin } from '../shared/pair-changes.ts';
import { findSecret, openSecrets, type Secrets } from '../shared/secrets.ts';

/** `client list` and `client show`: the states of the clients' pairs, by their records, and the secrets' versions. */
export function addListCommands(parent: Command, shell: Shell): void {
  addWatchOptions(addAwsOptions(parent.command('list')))
    .description(
      'Show the clients: state, last proof and token of each pair, versions of the credential, never a value.',
    )
    .option('--service <name>', 'the clients of this service only', parseName)
    .addHelpText('after', STATES)
    .action(
      operate<ListOptions>(shell, ['SECRETS_MANAGER'], async (options, command) => {
        const { environment, service, json } = options;
        checkService(shell, service, environment, command);
        const secrets = openSecrets(shell, options);
        const look = async () => {
          const some = (await secrets.list()).filter((one) => service === undefined || hasService(one, service));
          return lookAt(shell, some, secrets, options);
        };
        if (options.watch) return watch(shell, async () => `\n${textOf(await look(), options)}`, options);
        const clients = await look();
        if (json) printJson(shell, { environment, clients: clients.map(members) });
        else shell.stdout.write(textOf(clients, options));
        if (clients.length === 0) talk(shell, 'There is no client yet: client put --create makes one.');
        warnOfTags(shell, clients, environment);
      }),
    );

  addAwsOptions(parent.command('show'))
    .description('Show one client, with every version of its credential, never a value.')
    .argument('<client>', 'the client', parseName)
    .addHelpText('after', STATES)
    .action(
      operate<ListOptions & ClientOptions>(shell, ['SECRETS_MANAGER'], async (options) => {
        const { environment, client, json } = options;
        const secrets = openSecrets(shell, options);
        const shown = await lookAt(shell, [await findSecret(secrets, client)], secrets, options);
        if (json) printJson(shell, { environment, ...shown.map(members)[0] });
        else shell.stdout.write(`${textOf(shown, options)}\n${versionsText(shown)}`);
        warnOfTags(shell, shown, environment);
      }),
    );
}

interface ListOptions extends WatchOptions {
  readonly service?: string;
}

interface Listed extends DatedSecret {
  /** Whether the secret itself names the services of the tag, if there is one. */
  readonly repeated: boolean | 'unknown' | undefined;
  /** `undefined` when the table cannot be read. */
  readonly pairs: readonly PairState[] | undefined;
}

async function lookAt(
  shell: Shell,
  found: readonly ClientSecret[],
  secrets: Secrets,
  options: ListOptions,
): Promise<readonly Listed[]> {
  const look = async (secret: ClientSecret) => {
    const [dates, repeated] = await Promise.all([secrets.versionDates(secret), secrets.isTagRepeated(secret)]);
    return { ...secret, dates, repeated };
  };
  const clients = await mapConcurrently(found, look, talkOfProgress(shell, 'Looking at the versions'));
  const states = (await readStates(shell, found, options))?.filter(
    ({ service }) => service === (options.service ?? service),
  );
  return clients.map((one) => ({ ...one, pairs: states?.filter(({ client }) => client === one.client) }));
}

function members({ client, servicesTag, versions, deletedAt, dates, repeated, pairs }: Listed) {
  return {
    client,
    services: servicesTag === undefined ? 'all' : servicesOf(servicesTag, []),
    tag_repeated: repeated,
    versions: versions.map(({ versionId, stages }) => {
      return { version: versionId, stages, stored_at: iso(dates.get(versionId)) };
    }),
    deleted_at: iso(deletedAt),
    pairs: pairs?.map(({ service, state, since, until, provenAt, tokenExpiresAt }) => ({
      ...{ service, state, since: iso(since), until: iso(until) },
      proven_at: iso(provenAt),
      token_expires_at: iso(tokenExpiresAt),
    })),
  };
}

function textOf(clients: readonly Listed[], { environment }: ListOptions): string {
  const now = Date.now();
  const rows = clients.flatMap((one) => {
    const { client, pairs = [], servicesTag, deletedAt } = one;
    const current = versionWith('AWSCURRENT', one);
    const age = `${ageText(one.dates.get(current ?? ''), now)}${isOld(one, environment) ? ' (old)' : ''}`;
    const credential = [shortVersion(current), shortVersion(versionWith('AWSPENDING', one)), age];
    const gone = deletedAt === undefined ? undefined : `deleted, gone on ${iso(deletedAt)?.slice(0, 10)}`;
    if (pairs.length === 0)
      return [[client, (servicesTag ?? 'all').trim() || '-', gone ?? '-', '-', '-', ...credential]];
    return pairs.map((pair) => {
      const token = [ageText(pair.provenAt, now), ageText(now, pair.tokenExpiresAt)];
      return [client, pair.service, gone ?? stateText(pair), ...token, ...credential];
    });
  });
  return tableText(['CLIENT', 'SERVICE', 'STATE', 'PROVEN', 'TOKEN', 'CURRENT', 'PENDING', 'AGE'], rows);
}

function versionsText(clients: readonly Listed[]): string {
  const rows = clients.flatMap((one) =>
    SECRET_STAGES.flatMap((stage) => {
      const version = versionWith(stage, one);
      return version === undefined ? [] : [[stage, version, iso(one.dates.get(version)) ?? '-']];
    }),
  );
  return tableText(['STAGE', 'VERSION', 'STORED AT'], rows);
}

/** Warns of tags that differ from their secret: the broker goes by the secret, the list shows the tag. */
function warnOfTags(shell: Shell, clients: readonly Listed[], environment: string): void {
  for (const [state, words] of TAG_WORDS) {
    const names = clients.filter(({ repeated }) => repeated === state).map(({ client }) => client);
    if (names.length > 0) talk(shell, `${names.join(', ')}: ${words}`);
  }
  tellOld(shell, clients, environment);
}

const TAG_WORDS = [
  [false, 'the secret does not name the services of its tag; client put stores both alike.'],
  ['unknown', 'whether the secret names the services of its tag is unknown.'],
] as const;

function iso(time: number | undefined): string | undefined {
  return time === undefined ? undefined : new Date(time).toISOString();
}

/** The state of a pair by its record. Times are epoch milliseconds. */
interface PairState extends Pair {
  /** If several apply, the most urgent for an operator. */
  readonly state: 'disabled' | 'rejected' | 'held' | 'paused' | 'ok' | 'unproven';
  /** Absent when the record does not tell, and for `ok` and `unproven`. */
  readonly since?: number | undefined;
  /** When a pause or a hold ends by itself. */
  readonly until?: number | undefined;
  /** When the service last gave a token for the current version. */
  readonly provenAt?: number | undefined;
  /** The end of the token in use, whichever version it came from. */
  readonly tokenExpiresAt?: number | undefined;
}

/** The states of the pairs of these clients; `undefined`, with a word why, when the table cannot be read. */
async function readStates(
  shell: Shell,
  secrets: readonly ClientSecret[],
  options: ListOptions,
): Promise<readonly PairState[] | undefined> {
  const { environment } = options;
  if (isLocal(environment) && !shell.env.AWS_ENDPOINT_URL_DYNAMODB) {
    talk(shell, 'With AWS_ENDPOINT_URL_DYNAMODB as npm start prints it the states of the pairs are shown, too.');
    return undefined;
  }
  const dynamodb = new DynamoDB({ ...awsConfig(shell, options, 'DYNAMODB'), maxAttempts: 2 });
  const admin = createPairAdmin(dynamodb, tableName(environment), shell.signal);
  try {
    const pairs = secrets.flatMap((secret) =>
      checkedPairs(shell, secret, environment).map((pair) => ({ pair, current: versionWith('AWSCURRENT', secret) })),
    );
    return await mapConcurrently(pairs, async ({ pair, current }) => {
      return stateOf(pair, await admin.read(pair), current, Date.now());
    });
  } catch (error) {
    const failure =
      error instanceof CommandFailure ? error : awsFailure(error, 'dynamodb:GetItem', awsRegion(shell, options));
    if (failure.type === 'aborted') throw failure;
    talk(shell, `The states of the pairs cannot be read: ${failure.message}`);
    return undefined;
  } finally {
    dynamodb.destroy();
  }
}

/** Reads the state of a pair from its record, for the version of the credential that is the current one. */
export function stateOf(pair: Pair, record: PairRecord, current: string | undefined, now: number): PairState {
  const { disabled, pause, held, rejected, token } = withoutFutureTimes(record, now);
  const isProven = token !== undefined && token.credentialVersion === current;
  const told = {
    ...pair,
    ...(isProven && { provenAt: token.issuedAt }),
    ...(token !== undefined && token.expiresAt > now && { tokenExpiresAt: token.expiresAt }),
  };
  if (disabled) return { ...told, state: 'disabled', since: disabled.since || undefined };
  const latch = current === undefined ? undefined : rejected.get(current);
  if (latch !== undefined) return { ...told, state: 'rejected', since: latch.at || undefined };
  const hold = [...held].find(([key, { until }]) => key.startsWith(`${current}:`) && until > now)?.[1];
  if (hold !== undefined) return { ...told, state: 'held', until: hold.until };
  if (pause !== undefined && pause.until > now) return { ...told, state: 'paused', until: pause.until };
  return { ...told, state: isProven ? 'ok' : 'unproven' };
}

/** The state in a few words: `rejected since 2026-01-01T00:00:00.000Z`. */
function stateText({ state, since, until }: PairState): string {
  const time = since ?? until;
  if (time === undefined) return state;
  return `${state} ${until === undefined ? 'since' : 'until'} ${new Date(time).toISOString()}`;
}

const STATES = `
STATE is what the table says now: ok (the current version was accepted), unproven (not yet), disabled, rejected, held (the
version is not sent again before the time), paused (nothing is sent before the time). PROVEN is the age of the last proof,
TOKEN how long the token in use still lives, AGE how long ago the current version was stored.`;
