import { z } from 'zod';
import { type ClientName, type Pair, pairKey, type ServiceName } from '../../../functions/broker/pair/pair.ts';
import { NAME_PATTERN } from '../../../functions/contract.ts';
import { FAULTS, type TokenServiceAnswer, type TokenServiceFault } from './answer.ts';

/** What `POST /control` sets from now on: `null` ends a setting, what is left out stays as it is. */
export interface Control {
  readonly target: Target;
  readonly answer?: TokenServiceAnswer | null | undefined;
  readonly fault?: TokenServiceFault | null | undefined;
  readonly latencyMs?: number | null | undefined;
}

/** Reads the body of `POST /control`; gives a sentence instead that says what is wrong with it. */
export function parseControl(body: string): Control | string {
  const parsed = CONTROL.safeParse(parseJson(body));
  if (!parsed.success) return z.prettifyError(parsed.error);
  const { service, client, ...settings } = parsed.data;
  if (client === undefined) return { target: service, ...settings };
  return service === undefined ? 'A client needs a service beside it.' : { target: { service, client }, ...settings };
}

const NAME = z.string().regex(NAME_PATTERN);

const CONTROL = z.strictObject({
  service: NAME.optional(),
  client: NAME.optional(),
  answer: z
    .strictObject({
      status: z.int().min(200).max(599),
      headers: z.record(z.string(), z.string()).optional(),
      body: z.string().optional(),
    })
    .nullish(),
  fault: z.literal(Object.keys(FAULTS).filter(isFault)).nullish(),
  latencyMs: z.int().min(0).max(60_000).nullish(),
});

function isFault(name: string): name is TokenServiceFault {
  return name in FAULTS;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

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
