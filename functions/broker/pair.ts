/** The party whose credential the broker holds, for example `acme`. */
export type ClientName = string;

/** A configured service, for example `customer-insights`. */
export type ServiceName = string;

/** One client × one service: the unit of caching, locking and checking. */
export interface Pair {
  readonly client: ClientName;
  readonly service: ServiceName;
}

/** The only place where a pair becomes a key; `/` cannot occur in a name, so two pairs never share one. */
export function pairKey({ client, service }: Pair): string {
  return `${client}/${service}`;
}

/** Returns the pair of a key, and `undefined` for any other text. */
export function parsePairKey(key: string): Pair | undefined {
  const [client, service, ...more] = key.split('/');
  return client && service && more.length === 0 ? { client, service } : undefined;
}

/** The names in the tag `services`, each once; all configured ones when it says `all`, and when a secret has no such tag. */
export function servicesOf(tag: string | undefined, configured: readonly ServiceName[]): readonly ServiceName[] {
  if (tag === undefined || tag === 'all') return configured;
  return [...new Set(tag.split(/\s/).filter((name) => name !== ''))];
}
