import { z } from 'zod';
import { roleArnFault } from './role-arn.ts';
import { listOf, nameFault, text } from './schema.ts';

const notEmpty = { error: 'must not be empty' };

const namesOrAll = z.union([z.literal('all'), listOf(text(listedNameFault)).min(1, notEmpty)], {
  error: ({ input }) => (input === undefined ? 'is missing' : "must be 'all' or a list of names"),
});

/** Which role may act for which clients on which services. */
export const accessRuleSchema = z.strictObject({
  role: text(roleArnFault),
  clients: namesOrAll,
  services: namesOrAll,
  operations: listOf(z.enum(['token', 'check']))
    .min(1, notEmpty)
    .default(['token']),
});

function listedNameFault(name: string): string | undefined {
  return name === 'all' ? "must stand alone, not in a list: 'all'" : nameFault(name);
}
