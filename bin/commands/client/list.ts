import type { Command } from 'commander';
import type { SecretStage } from '../../../functions/contract.ts';
import { addRegionOption, addTableOption, type ClientOptions, isTagRepeated } from '../shared/client-options.ts';
import { checkEndpoint } from '../shared/environment.ts';
import { CommandFailure, explainFailure } from '../shared/failure.ts';
import { mapFew } from '../shared/few.ts';
import { shortVersion } from '../shared/finding.ts';
import { printJson, printTable, talk, talkOfProgress } from '../shared/output.ts';
import { openSecrets, type Secrets } from '../shared/secrets.ts';
import { type ClientSecret, versionWith } from '../shared/stored-secret.ts';
import { type LastFindings, readLastFindings } from './last-findings.ts';

/** `client list`: which clients there are, and which versions of their credentials. */
export function addListCommand(parent: Command, signal: AbortSignal): void {
  addTableOption(addRegionOption(parent.command('list')))
    .description('Show the clients with their services and the versions of their credentials, never a value.')
    .option('--json', 'answer in JSON')
    .action(async (_: unknown, command: Command) => {
      const options = command.optsWithGlobals<ClientOptions & { readonly table?: string }>();
      checkEndpoint(options, 'AWS_ENDPOINT_URL_SECRETS_MANAGER', command);
      await explainFailure(options, async () => {
        const secrets = openSecrets(options, signal);
        const look = async (secret: ClientSecret) => {
          const [dates, repeated] = await Promise.all([datesOf(secret, secrets), isTagRepeated(secret, secrets)]);
          return { ...secret, dates, repeated };
        };
        const clients = await mapFew(await secrets.list(), look, talkOfProgress('Looking at the versions'));
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
    const versions = STAGES.map((stage) => describeVersion(versionWith(stage, one), one, now));
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

const STAGES: readonly SecretStage[] = ['AWSCURRENT', 'AWSPENDING', 'AWSPREVIOUS'];

function describeVersion(versionId: string | undefined, { dates }: Listed, now: number): string {
  const storedAt = versionId === undefined ? undefined : dates.get(versionId);
  const days = storedAt === undefined ? '' : ` (${Math.floor(Math.max(0, now - storedAt) / DAY_MS)} d)`;
  return `${shortVersion(versionId)}${days}`;
}

const DAY_MS = 24 * 60 * 60_000;

function iso(time: number | undefined): string | undefined {
  return time === undefined ? undefined : new Date(time).toISOString();
}
