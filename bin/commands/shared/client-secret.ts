import { CommandFailure } from '../../../client/commands/failure.ts';
import { talk } from '../../../client/commands/output.ts';
import type { Shell } from '../../../client/commands/shell.ts';
import { servicesOf } from '../../../functions/broker/health/run.ts';
import { isRecord } from '../../../functions/broker/json.ts';
import type { Pair } from '../../../functions/broker/pair/pair.ts';
import type { SecretStage } from '../../../functions/contract.ts';
import { configuredServices, credentialMaxAgeDays } from './environment.ts';

/** What Secrets Manager tells of a client's secret without its values. Times are epoch milliseconds. */
export interface ClientSecret {
  readonly client: string;
  readonly arn: string;
  /** The tag `services` as it stands; absent when the client is on every service. */
  readonly servicesTag: string | undefined;
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
export function isOld(secret: DatedSecret, environment: string, now: number): boolean {
  const storedAt = secret.dates.get(versionWith('AWSCURRENT', secret) ?? '');
  return storedAt !== undefined && now - storedAt > credentialMaxAgeDays(environment) * DAY_MS;
}

const DAY_MS = 24 * 60 * 60_000;

/** Names the clients whose credentials are old. */
export function tellOld(shell: Shell, clients: readonly DatedSecret[], environment: string, now: number): void {
  const old = clients.filter((one) => isOld(one, environment, now)).map(({ client }) => client);
  if (old.length === 0) return;
  const days = credentialMaxAgeDays(environment);
  talk(
    shell,
    `${old.join(', ')}: the credential is older than ${days} days (credentialMaxAgeDays); client put rotates it.`,
  );
}

/** The pairs of a client that are checked: on the services of its tag, without one on all of the environment. */
export function checkedPairs(
  shell: Shell,
  { client, servicesTag }: ClientSecret,
  environment: string,
): readonly Pair[] {
  const configured = servicesTag === undefined ? configuredServices(shell, environment) : [];
  return servicesOf(servicesTag, configured).map((service) => ({ client, service }));
}

/** The same for one client; without a pair nothing could be proven, and all of nothing would count as accepted. */
export function provablePairs(shell: Shell, secret: ClientSecret, environment: string): readonly Pair[] {
  const pairs = checkedPairs(shell, secret, environment);
  if (pairs.length > 0) return pairs;
  throw new CommandFailure(
    'services-missing',
    `The client ${secret.client} has no service: the tag "services" of its secret is empty`,
    'client put with --services says which services it has.',
  );
}

/** Which names a person may have meant who typed another one: the nearest of those that differ in at most two letters. */
export function nearestNames(typed: string, names: readonly string[]): readonly string[] {
  const distanceOf = (name: string) => editDistance(typed.toLowerCase(), name.toLowerCase());
  const least = Math.min(2, ...names.map(distanceOf));
  return names.filter((name) => distanceOf(name) <= least);
}

/** How many letters must be added, left out, replaced or changed round to make one word of the other. */
function editDistance(one: string, other: string): number {
  const rows = [Array.from({ length: other.length + 1 }, (_, column) => column)];
  for (const [i, letter] of [...one].entries()) {
    const row = [i + 1];
    const [above = [], before = []] = [rows.at(-1), rows.at(-2)];
    for (let j = 1; j <= other.length; j += 1) {
      const replaced = (above[j - 1] ?? 0) + (letter === other[j - 1] ? 0 : 1);
      const isSwapped = i > 0 && letter === other[j - 2] && one[i - 1] === other[j - 1];
      const swapped = isSwapped ? (before[j - 2] ?? 0) + 1 : replaced;
      row.push(Math.min((above[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, replaced, swapped));
    }
    rows.push(row);
  }
  return rows.at(-1)?.at(-1) ?? 0;
}

/** Whether a client has a service, as far as its tag says. */
export function hasService({ servicesTag }: ClientSecret, service: string): boolean {
  return servicesOf(servicesTag, [service]).includes(service);
}

/** The services that the JSON of a version names, which is an object by name or a list; `undefined` when it has none. */
export function namedServices({ services }: Readonly<Record<string, unknown>>): readonly string[] | undefined {
  if (Array.isArray(services)) return services.map(String);
  return isRecord(services) ? Object.keys(services) : undefined;
}
