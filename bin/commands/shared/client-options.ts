import { type Command, Option } from 'commander';
import { servicesOf } from '../../../functions/broker/health/run.ts';
import type { Pair } from '../../../functions/broker/pair/pair.ts';
import { configuredServices } from './environment.ts';
import { CommandFailure } from './failure.ts';
import { parseRegion } from './options.ts';
import type { Secrets } from './secrets.ts';
import type { ClientSecret } from './stored-secret.ts';

/** What every command about clients can be told. */
export interface ClientOptions {
  readonly environment: string;
  readonly region?: string;
  readonly json?: boolean;
}

export function addRegionOption(command: Command): Command {
  return command.option(
    '--region <region>',
    'AWS region of the secrets and the table (default: as lib/environments.ts)',
    parseRegion,
  );
}

export function addTableOption(command: Command): Command {
  return command.addOption(
    new Option('--table <name>', "the environment's table of pairs (default: token-broker-<environment>)").env(
      'TOKEN_BROKER_TABLE',
    ),
  );
}

/** The pairs of a client that are checked: on the services of its tag, without one on all of the environment. */
export function checkedPairs({ client, servicesTag }: ClientSecret, environment: string): readonly Pair[] {
  const configured = servicesTag === undefined ? configuredServices(environment) : [];
  return pairsOn(servicesOf(servicesTag, configured), client);
}

/** Whether a client has a service, as far as its tag says. */
export function hasService({ servicesTag }: ClientSecret, service: string): boolean {
  return servicesOf(servicesTag, [service]).includes(service);
}

export function pairsOn(services: readonly string[], client: string): readonly Pair[] {
  return services.map((service) => ({ client, service }));
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

/** Whether the JSON of a client's secret names the services of its tag, if it has one; `unknown` when that cannot be read. */
export async function isTagRepeated(secret: ClientSecret, secrets: Secrets): Promise<boolean | 'unknown' | undefined> {
  const { client, servicesTag, deletedAt } = secret;
  if (servicesTag === undefined || deletedAt !== undefined) return undefined;
  const named = await secrets.readServices(client);
  if (named === 'unknown') return named;
  const tagged = servicesOf(servicesTag, []);
  return named !== 'all' && named.toSorted().join(' ') === tagged.toSorted().join(' ');
}

/**
 * The services that a client is put with, as `--services` says, else the tag of its secret; `undefined` when neither says
 * anything. Wrong usage when the environment does not have one of them.
 */
export function servicesSaid(
  before: ClientSecret | undefined,
  { environment, services }: { readonly environment: string; readonly services?: readonly string[] | 'all' },
  command: Command,
): readonly string[] | 'all' | undefined {
  if (services === undefined && before?.servicesTag !== undefined) {
    return provablePairs(before, environment).map(({ service }) => service);
  }
  const configured = configuredServices(environment);
  const unknown = services === 'all' ? undefined : services?.find((service) => !configured.includes(service));
  if (unknown !== undefined) {
    command.error(`error: "${environment}" has no service "${unknown}": it has ${configured.join(', ')}`);
  }
  return services;
}
