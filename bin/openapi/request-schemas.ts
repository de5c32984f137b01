import * as z from 'zod/mini';
import { NAME_PATTERN } from '../../functions/broker/pair.ts';

/**
 * What the broker reads, in schemas. It checks requests without them, because to load zod was a tenth of its start; a test
 * asks both about the same bodies.
 */
export const nameSchema = z.string().check(z.regex(NAME_PATTERN));

export const tokenRequestSchema = z.strictObject({
  client: nameSchema,
  service: nameSchema,
  min_ttl: z.optional(z.int().check(z.gte(0), z.lte(86_400))),
  refused: z.optional(z.string().check(z.regex(/^[0-9a-f]{16}$/))),
});

export const checkRequestSchema = z.strictObject({
  client: nameSchema,
  service: nameSchema,
  stage: z.optional(z.enum(['AWSCURRENT', 'AWSPENDING', 'AWSPREVIOUS'])),
});
