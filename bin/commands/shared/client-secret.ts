import { CommandFailure } from '../../../client/commands/failure.ts';
import { servicesOf } from '../../../functions/broker/health/run.ts';
import type { Pair } from '../../../functions/broker/pair/pair.ts';
import type { SecretStage } from '../../../functions/contract.ts';
import { isJsonObject } from '../../json.ts';
import { configuredServices } from './environment.ts';

/** What Secrets Manager tells of a client's secret without its values. Times are epoch milliseconds. */
export interface ClientSecret {
  readonly client: string;
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

/** The pairs of a client that are checked: on the services of its tag, without one on all of the environment. */
export function checkedPairs({ client, servicesTag }: ClientSecret, environment: string): readonly Pair[] {
  const configured = servicesTag === undefined ? configuredServices(environment) : [];
  return pairsOn(servicesOf(servicesTag, configured), client);
}

/** The same for one client; without a pair nothing could be proven, and all of nothing would count as accepted. */
export function provablePairs(secret: ClientSecret, environment: string): readonly Pair[] {
  const pairs = checkedPairs(secret, environment);
  if (pairs.length > 0) return pairs;
  throw new CommandFailure(
    'services-missing',
    `The client ${secret.client} has no service: the tag "services" of its secret is empty`,
    'client put with --services says which services it has.',
  );
}

/** The pairs of one client on these services. */
export function pairsOn(services: readonly string[], client: string): readonly Pair[] {
  return services.map((service) => ({ client, service }));
}

/** Whether a client has a service, as far as its tag says. */
export function hasService({ servicesTag }: ClientSecret, service: string): boolean {
  return servicesOf(servicesTag, [service]).includes(service);
}

/** The services that the JSON of a version names, which is an object by name or a list; `undefined` when it has none. */
export function namedServices({ services }: Readonly<Record<string, unknown>>): readonly string[] | undefined {
  if (Array.isArray(services)) return services.map(String);
  return isJsonObject(services) ? Object.keys(services) : undefined;
}
