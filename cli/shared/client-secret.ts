import { diff } from 'node:util';
import { CommandFailure } from '../../client/commands/failure.ts';
import { note } from '../../client/commands/output.ts';
import type { Shell } from '../../client/commands/shell.ts';
import { type Pair, servicesOf } from '../../functions/broker/pair.ts';
import type { SecretStage } from '../../functions/vocabulary.ts';
import { CREDENTIAL_MAX_AGE_DAYS } from '../../lib/settings/settings.ts';
import { configuredServices, settingsOf } from './settings.ts';

/** A client's secret as Secrets Manager describes it, without values. Times are epoch milliseconds. */
export interface ClientSecret {
  readonly client: string;
  readonly arn: string;
  /** The value of the tag `services`. Absent when the client is on every service. */
  readonly servicesTag: string | undefined;
  /** The services of each version by id, in the form of `servicesTag`. Contains only versions that a command stored. */
  readonly servicesOf: ReadonlyMap<string, string>;
  /** The expiries of each version by id, from its tag `expires`. */
  readonly expiriesOf: ReadonlyMap<string, string>;
  /** The versions that carry a stage. */
  readonly versions: readonly { readonly versionId: string; readonly stages: readonly string[] }[];
  /** When a secret that is marked for deletion will be deleted. */
  readonly deletedAt: number | undefined;
}

/** Returns the id of the version that has the stage. A version that is current neither waits nor precedes itself. */
export function versionWith(stage: SecretStage, secret: ClientSecret | undefined): string | undefined {
  const [version] = secret?.versions.filter(({ stages }) => stages.includes(stage)) ?? [];
  return stage !== 'AWSCURRENT' && version?.stages.includes('AWSCURRENT') ? undefined : version?.versionId;
}

/** A secret with the time at which each version was stored: epoch milliseconds by version id. */
export interface DatedSecret extends ClientSecret {
  readonly dates: ReadonlyMap<string, number>;
}

/** Prints the clients whose secrets may name no services, and those whose credentials are old. */
export function noteCredentials(shell: Shell, clients: readonly DatedSecret[], environment: string): void {
  const days = settingsOf(environment)?.credentialMaxAgeDays ?? CREDENTIAL_MAX_AGE_DAYS;
  const currentOf = (client: DatedSecret) => versionWith('AWSCURRENT', client) ?? '';
  const isOld = (client: DatedSecret) => (client.dates.get(currentOf(client)) ?? Infinity) < Date.now() - days * DAY_MS;
  const isExpiring = (client: DatedSecret) => Date.parse(firstExpiry(client)) <= Date.now() + 30 * DAY_MS;
  const findings = [
    [({ servicesTag }: DatedSecret) => servicesTag === undefined, UNLISTED],
    [isOld, `the credential is older than ${days} days (credentialMaxAgeDays); client put rotates it.`],
    [isExpiring, 'the credential has ended, or ends within 30 days; client put rotates it.'],
  ] as const;
  for (const [isMeant, words] of findings) {
    const names = clients.filter(isMeant).map(({ client }) => client);
    if (names.length > 0) note(shell, `${names.join(', ')}: ${words}`);
  }
}

const DAY_MS = 24 * 60 * 60_000;

/** Returns the first expiry of the current version, from its tag, or `-`. */
export function firstExpiry(secret: ClientSecret): string {
  return secret.expiriesOf.get(versionWith('AWSCURRENT', secret) ?? '')?.split(' ')[0] ?? '-';
}

const UNLISTED =
  'without the tag "services" the secret may also name no services, and is then sent to no service as soon as a second service exists; client put --services writes both.';

/** Returns the pairs to check: on the version's services if known, otherwise the tag's, otherwise the environment's. */
export function checkedPairs(shell: Shell, secret: ClientSecret, environment: string, version = ''): Pair[] {
  const { client, servicesTag, servicesOf: known } = secret;
  const configured = configuredServices(shell, environment);
  return servicesOf(known.get(version) ?? servicesTag, configured).map((service) => ({ client, service }));
}

/** Returns `checkedPairs`. Fails on an empty list, whose checks would all succeed. */
export function provablePairs(...[shell, secret, ...place]: Parameters<typeof checkedPairs>): Pair[] {
  const pairs = checkedPairs(shell, secret, ...place);
  if (pairs.length > 0) return pairs;
  throw servicesMissing(secret.client);
}

export function servicesMissing(client: string): CommandFailure {
  const detail = `The client ${client} has no service: the tag "services" of its secret is empty`;
  return new CommandFailure('services-missing', detail, 'client put --services sets its services.');
}

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

/** Returns whether a client has a service, according to its tag. */
export function hasService({ servicesTag }: ClientSecret, service: string): boolean {
  return servicesOf(servicesTag, [service]).includes(service);
}

/** Returns the names nearest to the typed name, with at most two letters inserted or removed. */
export function nearestNames(typed: string, names: readonly string[]): readonly string[] {
  const changes = (name: string) => diff(typed.toLowerCase(), name.toLowerCase()).filter(([change]) => change !== 0);
  const distances = new Map(names.map((name) => [name, changes(name).length]));
  const least = Math.min(2, ...distances.values());
  return names.filter((name) => distances.get(name) === least);
}
