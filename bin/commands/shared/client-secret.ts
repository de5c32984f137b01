import { CommandFailure } from '../../../client/commands/failure.ts';
import { talk } from '../../../client/commands/output.ts';
import type { Shell } from '../../../client/commands/shell.ts';
import { servicesOf } from '../../../functions/broker/health/run.ts';
import type { Pair } from '../../../functions/broker/pair.ts';
import type { SecretStage } from '../../../functions/contract.ts';
import { CREDENTIAL_MAX_AGE_DAYS } from '../../../lib/settings/environment.ts';
import { configuredServices, settingsOf } from './environment.ts';

/** A client's secret as Secrets Manager describes it, without values. Times are epoch milliseconds. */
export interface ClientSecret {
  readonly client: string;
  readonly arn: string;
  /** The tag `services` as it stands; absent when the client is on every service. */
  readonly servicesTag: string | undefined;
  /** The services that a version names, by its id: as in `servicesTag`. Of one that no command stored they are unknown. */
  readonly servicesOf: ReadonlyMap<string, string>;
  /** The versions that carry a stage. */
  readonly versions: readonly { readonly versionId: string; readonly stages: readonly string[] }[];
  /** Marked for deletion, and when it will be gone. */
  readonly deletedAt: number | undefined;
}

/** The id of the version that has the stage. */
export function versionWith(stage: SecretStage, secret: ClientSecret | undefined): string | undefined {
  return secret?.versions.find(({ stages }) => stages.includes(stage))?.versionId;
}

/** A secret, and when each version was stored: epoch milliseconds by version id. */
export interface DatedSecret extends ClientSecret {
  readonly dates: ReadonlyMap<string, number>;
}

/** Whether the current version of a credential is older than the environment wants it to be. */
export function isOld(secret: DatedSecret, environment: string): boolean {
  const storedAt = secret.dates.get(versionWith('AWSCURRENT', secret) ?? '') ?? Date.now();
  return Date.now() - storedAt > maxAgeDays(environment) * 24 * 60 * 60_000;
}

/** Names the clients whose credentials are old. */
export function tellOld(shell: Shell, clients: readonly DatedSecret[], environment: string): void {
  const old = clients.filter((one) => isOld(one, environment)).map(({ client }) => client);
  if (old.length === 0) return;
  const limit = `older than ${maxAgeDays(environment)} days (credentialMaxAgeDays)`;
  talk(shell, `${old.join(', ')}: the credential is ${limit}; client put rotates it.`);
}

/** Names the clients whose secrets may name no services, which a second service would keep from being sent. */
export function tellUnlisted(shell: Shell, clients: readonly ClientSecret[]): void {
  const names = clients.filter(({ servicesTag }) => servicesTag === undefined).map(({ client }) => client);
  if (names.length > 0) talk(shell, `${names.join(', ')}: ${UNLISTED}`);
}

const UNLISTED =
  'without the tag "services" the secret may name no services either, and then it is sent to none as soon as there is a second one; client put --services writes both.';

function maxAgeDays(environment: string): number {
  return settingsOf(environment)?.credentialMaxAgeDays ?? CREDENTIAL_MAX_AGE_DAYS;
}

/**
 * The pairs of a client to check: on the services that the version names, as far as they are known, else on those of the
 * tag, else on all services of the environment.
 */
export function checkedPairs(shell: Shell, secret: ClientSecret, environment: string, version = ''): Pair[] {
  const { client, servicesTag, servicesOf: known } = secret;
  const configured = configuredServices(shell, environment);
  return servicesOf(known.get(version) ?? servicesTag, configured).map((service) => ({ client, service }));
}

/** As `checkedPairs`; fails if there are none, because every check of an empty list succeeds. */
export function provablePairs(...[shell, secret, ...place]: Parameters<typeof checkedPairs>): Pair[] {
  const pairs = checkedPairs(shell, secret, ...place);
  if (pairs.length > 0) return pairs;
  throw servicesMissing(secret.client);
}

export function servicesMissing(client: string): CommandFailure {
  const detail = `The client ${client} has no service: the tag "services" of its secret is empty`;
  return new CommandFailure('services-missing', detail, 'client put with --services says which services it has.');
}

/** Whether a client has a service, as far as its tag says. */
export function hasService({ servicesTag }: ClientSecret, service: string): boolean {
  return servicesOf(servicesTag, [service]).includes(service);
}

/** The names that a typed one may stand for: the nearest of those that differ in at most two letters. */
export function nearestNames(typed: string, names: readonly string[]): readonly string[] {
  const distances = new Map(names.map((name) => [name, editDistance(typed.toLowerCase(), name.toLowerCase())]));
  const least = Math.min(2, ...distances.values());
  return names.filter((name) => distances.get(name) === least);
}

/** The Levenshtein distance of two words. */
function editDistance(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, column) => column);
  for (const letter of one) {
    const above = row;
    row = [(above[0] ?? 0) + 1];
    for (const [column, match] of [...other].entries()) {
      const replaced = (above[column] ?? 0) + (letter === match ? 0 : 1);
      row.push(Math.min((above[column + 1] ?? 0) + 1, (row[column] ?? 0) + 1, replaced));
    }
  }
  return row.at(-1) ?? 0;
}
