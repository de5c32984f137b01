import type { ClientName, Pair, ServiceName } from '../pair/pair.ts';

/** A client as the list of secrets shows it. */
export interface ListedClient {
  readonly client: ClientName;
  /** The tag `services`; absent when the secret has none. */
  readonly services?: string | undefined;
}

/** What there is under the clients' prefix; `ignored` are the names that cannot be those of clients. */
export interface ClientList {
  readonly clients: readonly ListedClient[];
  readonly ignored: readonly string[];
}

/** Every pair that there is; `unknown` are those whose service is not among the configured ones. */
export function pairsOf(clients: readonly ListedClient[], configured: readonly ServiceName[]): ListedPairs {
  const all = clients.flatMap(({ client, services }) =>
    servicesOf(services, configured).map((service) => ({ client, service })),
  );
  return {
    pairs: all.filter(({ service }) => configured.includes(service)),
    unknown: all.filter(({ service }) => !configured.includes(service)),
  };
}

export interface ListedPairs {
  readonly pairs: readonly Pair[];
  readonly unknown: readonly Pair[];
}

/** The names in the tag `services`, each once; all configured ones when a secret has no such tag. */
export function servicesOf(tag: string | undefined, configured: readonly ServiceName[]): readonly ServiceName[] {
  if (tag === undefined) return configured;
  return [...new Set(tag.split(/\s/).filter((name) => name !== ''))];
}
