/** The party whose credential the broker keeps, for example `acme`. */
export type ClientName = string;

/** A configured service, for example `customer-insights`. */
export type ServiceName = string;

/** One client × one service: the unit of caching, locking and checking. */
export interface Pair {
  readonly client: ClientName;
  readonly service: ServiceName;
}

/** The only place where a pair becomes a key. A name never contains `/`, so two pairs never share a key. */
export function pairKey({ client, service }: Pair): string {
  return `${client}/${service}`;
}

/** Returns the pair of a key, and `undefined` for any other text. */
export function parsePairKey(key: string): Pair | undefined {
  const [client, service, ...more] = key.split('/');
  return client && service && more.length === 0 ? { client, service } : undefined;
}

/** Returns the services in the tag `services`, each once. Without the tag, or with `all`: all configured services. */
export function servicesOf(tag: string | undefined, configured: readonly ServiceName[]): readonly ServiceName[] {
  if (tag === undefined || tag === 'all') return configured;
  return [...new Set(tag.split(/\s/).filter((name) => name !== ''))];
}
