import { type Command, Option } from 'commander';
import { explainFailure } from '../../../client/commands/failure.ts';
import { parseName } from '../../../client/commands/options.ts';
import { ageText, printJson, tableText, talk } from '../../../client/commands/output.ts';
import type { Shell } from '../../../client/commands/shell.ts';
import { SECRET_STAGES } from '../../../functions/contract.ts';
import { mapConcurrently, shortVersion } from '../shared/checks.ts';
import {
  type ClientSecret,
  type DatedSecret,
  hasService,
  isOld,
  tellOld,
  versionWith,
} from '../shared/client-secret.ts';
import { checkEndpoint, checkService } from '../shared/environment.ts';
import { addRegionOption, addWatchOptions, type ClientOptions, type WatchOptions, watch } from '../shared/options.ts';
import { findSecret, openSecrets, type Secrets } from '../shared/secrets.ts';
import { type PairState, readStates, stateText } from './states.ts';

/** `client list` and `client show`: how the clients are, by the records of their pairs, and which versions there are. */
export function addListCommands(parent: Command, shell: Shell): void {
  addWatchOptions(addRegionOption(parent.command('list')))
    .description(
      'Show the clients: state, last proof and token of each pair, versions of the credential, never a value.',
    )
    .option('--service <name>', 'the clients of this service only', parseName)
    .addOption(new Option('--json', 'answer in JSON').conflicts('watch'))
    .addHelpText('after', STATES)
    .action(async (_: unknown, command: Command) => {
      const options = command.optsWithGlobals<ListOptions>();
      const { environment, service, json } = options;
      checkEndpoint(shell, options, 'AWS_ENDPOINT_URL_SECRETS_MANAGER', command);
      await explainFailure(shell, options, async () => {
        checkService(shell, service, environment, command);
        const secrets = openSecrets(shell, options);
        const look = async () => {
          const all = await secrets.list();
          const some = all.filter((secret) => service === undefined || hasService(secret, service));
          return lookAt(shell, some, secrets, options);
        };
        if (options.watch) return watch(shell, async () => `\n${textOf(await look(), options)}`, options);
        const clients = await look();
        if (json) printJson(shell, { environment, clients: clients.map(members) });
        else shell.stdout.write(textOf(clients, options));
        if (clients.length === 0) talk(shell, 'There is no client yet: client put --create makes one.');
        tellWhatIsOdd(shell, clients, environment);
      });
    });

  addRegionOption(parent.command('show'))
    .description('Show one client, with every version of its credential, never a value.')
    .argument('<client>', 'the client', parseName)
    .option('--json', 'answer in JSON')
    .addHelpText('after', STATES)
    .action(async (client: string, _: unknown, command: Command) => {
      const options = command.optsWithGlobals<ListOptions>();
      const { environment, json } = options;
      checkEndpoint(shell, options, 'AWS_ENDPOINT_URL_SECRETS_MANAGER', command);
      await explainFailure(shell, { ...options, client }, async () => {
        const secrets = openSecrets(shell, options);
        const shown = await lookAt(shell, [await findSecret(secrets, client)], secrets, options);
        if (json) printJson(shell, { environment, ...shown.map(members)[0] });
        else shell.stdout.write(`${textOf(shown, options)}\n${versionsText(shown)}`);
        tellWhatIsOdd(shell, shown, environment);
      });
    });
}

interface ListOptions extends ClientOptions, WatchOptions {
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
  const clients = await mapConcurrently(found, look);
  const states = await readStates(shell, found, options);
  const isShown = ({ service }: PairState) => options.service === undefined || service === options.service;
  return clients.map((one) => ({
    ...one,
    pairs: states?.filter((pair) => pair.client === one.client && isShown(pair)),
  }));
}

function members({ client, servicesTag, versions, deletedAt, dates, repeated, pairs }: Listed) {
  return {
    client,
    services: servicesTag?.split(/\s+/) ?? 'all',
    tag_repeated: repeated,
    versions: versions.map(({ versionId, stages }) => ({
      version: versionId,
      stages,
      stored_at: iso(dates.get(versionId)),
    })),
    deleted_at: iso(deletedAt),
    pairs: pairs?.map(({ service, state, since, until, provenAt, tokenExpiresAt }) => ({
      service,
      state,
      since: iso(since),
      until: iso(until),
      proven_at: iso(provenAt),
      token_expires_at: iso(tokenExpiresAt),
    })),
  };
}

function textOf(clients: readonly Listed[], { environment }: ListOptions): string {
  const now = Date.now();
  const rows = clients.flatMap((one) => {
    const { client, pairs, servicesTag } = one;
    const credential = [
      shortVersion(versionWith('AWSCURRENT', one)),
      shortVersion(versionWith('AWSPENDING', one)),
      `${ageText(currentDate(one), now)}${isOld(one, environment, now) ? ' (old)' : ''}`,
    ];
    const unread = [
      { service: servicesTag ?? 'all', state: undefined, provenAt: undefined, tokenExpiresAt: undefined },
    ];
    return (pairs === undefined || pairs.length === 0 ? unread : pairs).map((pair) => [
      client,
      pair.service,
      deletion(one) ?? (pair.state === undefined ? '-' : stateText(pair)),
      ageText(pair.provenAt, now),
      ageText(now, pair.tokenExpiresAt),
      ...credential,
    ]);
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

function deletion({ deletedAt }: Listed): string | undefined {
  return deletedAt === undefined ? undefined : `deleted, gone on ${iso(deletedAt)?.slice(0, 10)}`;
}

function currentDate(client: Listed): number | undefined {
  return client.dates.get(versionWith('AWSCURRENT', client) ?? '');
}

/** Of tags, because the broker goes by the secret: one that says something else misleads the reader of the list. */
function tellWhatIsOdd(shell: Shell, clients: readonly Listed[], environment: string): void {
  for (const [state, words] of TAG_WORDS) {
    const names = clients.filter(({ repeated }) => repeated === state).map(({ client }) => client);
    if (names.length > 0) talk(shell, `${names.join(', ')}: ${words}`);
  }
  tellOld(shell, clients, environment, Date.now());
}

const TAG_WORDS = [
  [false, 'the secret does not name the services of its tag; client put stores both alike.'],
  ['unknown', 'whether the secret names the services of its tag is unknown.'],
] as const;

function iso(time: number | undefined): string | undefined {
  return time === undefined ? undefined : new Date(time).toISOString();
}

const STATES = `
STATE is what the table says now: ok (the current version was accepted), unproven (not yet), disabled, rejected, held (the
version is not sent again before the time), paused (nothing is sent before the time). PROVEN is the age of the last proof,
TOKEN how long the token in use still lives, AGE how long ago the current version was stored.`;
