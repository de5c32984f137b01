import { z } from 'zod';
import { NAME_PATTERN } from '../functions/contract.ts';

/** A string that `faultOf` has nothing against. */
export function text(faultOf: FaultOf) {
  return z.string().superRefine((value, context) => {
    const reason = faultOf(value);
    if (reason !== undefined) context.addIssue(reason);
  });
}

/** Why a text is wrong, or `undefined`; the reason must not quote it. */
export type FaultOf = (text: string) => string | undefined;

/** No item twice. */
export function listOf<Item extends z.ZodType>(item: Item) {
  return z.array(item).superRefine(
    (items, context) => {
      for (const [index, value] of items.entries()) {
        if (items.indexOf(value) < index)
          context.addIssue({ code: 'custom', path: [index], message: 'is there twice' });
      }
    },
    { when: ({ value }) => Array.isArray(value) },
  );
}

/** An object whose member names are free, but for what `faultOf` has against them. */
export function recordOf<Value extends z.ZodType>(faultOf: FaultOf, value: Value) {
  return z.record(z.string(), value).superRefine((record, context) => {
    for (const name of Object.keys(record)) {
      const reason = faultOf(name);
      if (reason !== undefined) context.addIssue({ code: 'custom', path: [name], message: reason });
    }
  }, ALWAYS);
}

/**
 * Lets a check run although other members are wrong, so that an operator sees everything at once. Such a check meets
 * members of any type and declares them `unknown`.
 */
export const ALWAYS = {
  when: ({ value }: { readonly value: unknown }) =>
    typeof value === 'object' && value !== null && !Array.isArray(value),
};

/** Why a text cannot name a client or a service. `all` would read like the word that stands for every one of them. */
export function nameFault(name: string): string | undefined {
  if (name === 'all') return "must not be called 'all'";
  return NAME_PATTERN.test(name)
    ? undefined
    : 'must be 1 to 63 letters, digits or . _ - and start with a letter or digit';
}
