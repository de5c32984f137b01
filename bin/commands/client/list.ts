import type { Command } from 'commander';
import { CommandFailure, explainFailure } from '../../../client/commands/failure.ts';
import { printJson, printTable, talk, talkOfProgress } from '../../../client/commands/output.ts';
import { createDynamoDBClient } from '../../../functions/aws/clients.ts';
import { createNotificationTable } from '../../../functions/aws/notifications.ts';
import type { Entry } from '../../../functions/broker/health/evaluate.ts';
import { NotificationFailure } from '../../../functions/broker/health/notify.ts';
import { SECRET_STAGES } from '../../../functions/contract.ts';
import { mapConcurrently, shortVersion } from '../shared/checks.ts';
import { type ClientSecret, versionWith } from '../shared/client-secret.ts';
import {
  awsRegion,
  checkEndpoint,
  configuredServices,
  isLocal,
  pairTable,
  type TableOptions,
} from '../shared/environment.ts';
import { addTableOptions, type ClientOptions } from '../shared/options.ts';
import { openSecrets, type Secrets } from '../shared/secrets.ts';

/** `client list`: which clients there are, and which versions of their credentials. */
export function addListCommand(parent: Command, signal: AbortSignal): void {
  addTableOptions(parent.command('list'))
    .description('Show the clients with their services and the versions of their credentials, never a value.')
    .option('--json', 'answer in JSON')
    .action(async (_: unknown, command: Command) => {
      const options = command.optsWithGlobals<ClientOptions & { readonly table?: string }>();
      checkEndpoint(options, 'AWS_ENDPOINT_URL_SECRETS_MANAGER', command);
      await explainFailure(options, async () => {
        const secrets = openSecrets(options, signal);
        const look = async (secret: ClientSecret) => {
          const [dates, repeated] = await Promise.all([datesOf(secret, secrets), secrets.isTagRepeated(secret)]);
          return { ...secret, dates, repeated };
        };
        const clients = await mapConcurrently(await secrets.list(), look, talkOfProgress('Looking at the versions'));
        const findings = await readLastFindings(options);
        if (options.json) {
          printJson({ environment: options.environment, clients: clients.map((one) => members(one, findings)) });
        } else print(clients, findings, Date.now());
        tellTags(clients);
      });
    });
}

interface Listed extends ClientSecret {
  /** Epoch milliseconds by version id. */
  readonly dates: ReadonlyMap<string, number>;
  /** Whether the secret itself names the services of the tag, if there is one. */
  readonly repeated: boolean | 'unknown' | undefined;
}

/** A secret can go while the list is read: what is known of it is shown all the same. */
async function datesOf(secret: ClientSecret, secrets: Secrets): Promise<Listed['dates']> {
  if (secret.deletedAt !== undefined) return new Map();
  try {
    return await secrets.versionDates(secret.client);
  } catch (error) {
    if (error instanceof CommandFailure && error.type.startsWith('secret-')) return new Map();
    throw error;
  }
}

/** By `pairKey`; a pair that is as it should be is not among them. */
type LastFindings = ReadonlyMap<string, Entry>;

/** What the scheduled checks last told the operators; `undefined`, with a word why, when it cannot be read. */
async function readLastFindings(options: TableOptions): Promise<LastFindings | undefined> {
  const { environment } = options;
  if (isLocal(environment) && !process.env.AWS_ENDPOINT_URL_DYNAMODB) {
    talk('With AWS_ENDPOINT_URL_DYNAMODB as npm start prints it the last findings are shown, too.');
    return undefined;
  }
  const tableName = pairTable(options);
  const region = awsRegion(options);
  const dynamodb = createDynamoDBClient({ maxAttempts: 2, ...(region && { region }) });
  const memory = createNotificationTable({ dynamodb, tableName, now: Date.now });
  try {
    const ofServices = await Promise.all(configuredServices(environment).map((service) => memory.read(service)));
    return new Map(ofServices.flatMap(({ entries }) => [...entries]));
  } catch (error) {
    if (!(error instanceof NotificationFailure || error instanceof CommandFailure)) throw error;
    talk(`The last findings cannot be read: ${error.message}`);
    return undefined;
  }
}

function members(
  { client, servicesTag, versions, deletedAt, dates, repeated }: Listed,
  findings: LastFindings | undefined,
) {
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
    last_findings: findings && findingsOf(client, findings),
  };
}

/** What was last found wrong with a client, by service. */
function findingsOf(client: string, findings: LastFindings) {
  return [...findings].flatMap(([key, { condition, since }]) => {
    const [named, service] = key.split('/');
    return named === client ? [{ service, finding: condition, since: iso(since) }] : [];
  });
}

function print(clients: readonly Listed[], findings: LastFindings | undefined, now: number): void {
  const rows = clients.map((one) => {
    const versions = SECRET_STAGES.map((stage) => describeVersion(versionWith(stage, one), one, now));
    return [one.client, one.servicesTag ?? 'all', ...versions, stateOf(one, findings)];
  });
  printTable(['CLIENT', 'SERVICES', 'CURRENT', 'PENDING', 'PREVIOUS', 'LAST FINDING'], rows);
  if (clients.length === 0) talk('There is no client yet: client put makes one.');
}

/** The broker goes by the secret: a tag that says something else misleads the reader of the list. */
function tellTags(clients: readonly Listed[]): void {
  const named = (state: Listed['repeated']) =>
    clients.filter(({ repeated }) => repeated === state).map(({ client }) => client);
  const [others, unknown] = [named(false), named('unknown')];
  if (others.length > 0) {
    talk(`${others.join(', ')}: the secret does not name the services of its tag; client put stores both alike.`);
  }
  if (unknown.length > 0) talk(`${unknown.join(', ')}: whether the secret names the services of its tag is unknown.`);
}

function stateOf({ client, deletedAt }: Listed, findings: LastFindings | undefined): string {
  if (deletedAt !== undefined) return `deleted, gone on ${iso(deletedAt)?.slice(0, 10)}`;
  const wrong = findings === undefined ? [] : findingsOf(client, findings);
  if (wrong.length === 0) return '-';
  return wrong.map(({ service, finding, since }) => `${service}: ${finding} since ${since}`).join('; ');
}

function describeVersion(versionId: string | undefined, { dates }: Listed, now: number): string {
  const storedAt = versionId === undefined ? undefined : dates.get(versionId);
  const days = storedAt === undefined ? '' : ` (${Math.floor(Math.max(0, now - storedAt) / DAY_MS)} d)`;
  return `${shortVersion(versionId)}${days}`;
}

const DAY_MS = 24 * 60 * 60_000;

function iso(time: number | undefined): string | undefined {
  return time === undefined ? undefined : new Date(time).toISOString();
}
