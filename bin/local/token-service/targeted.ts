import { type ClientName, type Pair, pairKey, type ServiceName } from '../../../functions/broker/pair/pair.ts';

/** What a setting of the token service is for: one pair, one service, or everything when left out. */
export type Target = Pair | ServiceName | undefined;

/** One value for each target; the narrowest target counts. */
export class Targeted<T> {
  readonly #values = new Map<string, T>();

  /** `undefined` takes the target's value away. */
  set(target: Target, value: T | undefined): void {
    if (value === undefined) this.#values.delete(targetKey(target));
    else this.#values.set(targetKey(target), value);
  }

  find(service: ServiceName, client: ClientName | undefined): T | undefined {
    const ofPair = client === undefined ? undefined : this.#values.get(targetKey({ service, client }));
    return ofPair ?? this.#values.get(targetKey(service)) ?? this.#values.get(targetKey(undefined));
  }
}

/** A service's name cannot be taken for everything, nor a pair's key for a service: a name has no slash and a letter. */
function targetKey(target: Target): string {
  return typeof target === 'object' ? pairKey(target) : (target ?? '');
}
