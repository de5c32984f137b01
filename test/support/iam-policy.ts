import { z } from 'zod';

/** A statement of a policy, with every list in it as a list. */
export type Statement = z.output<typeof statement>;

/** Operator → key → values. */
export type Conditions = Statement['Condition'];

/**
 * Reads a policy whose intrinsics are resolved. Throws for what it does not know, `NotAction` and its like included: an
 * element that is passed over would change what the policy means.
 */
export function parsePolicy(document: unknown): readonly Statement[] {
  return policy.parse(document).Statement;
}

function oneOrMore<Item extends z.ZodType>(item: Item) {
  return z.preprocess((value) => (Array.isArray(value) ? value : [value]), z.array(item).min(1));
}

const texts = oneOrMore(z.union([z.string(), z.boolean().transform(String)]));
const everyPrincipal = z.literal('*').transform(() => ({ AWS: ['*'] }));

const statement = z.strictObject({
  Sid: z.string().optional(),
  Effect: z.enum(['Allow', 'Deny']),
  /** Absent in an identity's own policy. */
  Principal: z.union([everyPrincipal, z.strictObject({ AWS: texts }), z.strictObject({ Service: texts })]).optional(),
  Action: texts,
  /** Absent in a role's trust policy. */
  Resource: texts.optional(),
  Condition: z.record(z.string(), z.record(z.string(), texts)).default({}),
});

const policy = z.strictObject({
  // The older version knows no policy variables, and no stack here uses it.
  Version: z.literal('2012-10-17'),
  Id: z.string().optional(),
  Statement: oneOrMore(statement),
});
