/** The party whose credential the broker uses, for example `acme`. */
export type ClientName = string;

/** A configured service, for example `customer-insights`. */
export type ServiceName = string;

/** One client × one service: the unit of caching, locking and checking. */
export interface Pair {
  readonly client: ClientName;
  readonly service: ServiceName;
}

/** Returns the key of a pair. No name contains `/`, so two pairs never share a key. */
export function pairKey({ client, service }: Pair): string {
  return `${client}/${service}`;
}
