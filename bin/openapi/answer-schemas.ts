import * as z from 'zod/mini';
import { nameSchema } from '../../functions/broker/http/request.ts';
import type { CheckAnswer, ProblemAnswer, TokenAnswer } from '../../functions/broker/http/response.ts';
import { FINDINGS, PROBLEMS, PROOFS, type ProblemType, SECRET_STAGES } from '../../functions/contract.ts';
import type { Same } from './same.ts';

/**
 * What the broker answers, in schemas. The handler needs none to write an answer, so they stay out of its bundle; its
 * types hold them to what it writes, see the end of this file.
 */
export const tokenAnswerSchema = z.looseObject({
  access_token: z.string().check(z.minLength(1)),
  token_type: z.string().check(z.minLength(1)),
  expires_in: z.int().check(z.gte(0)),
  expires_at: z.iso.datetime(),
  expiry_source: z.enum(['response', 'jwt', 'configured', 'assumed']),
  fingerprint: z.string().check(z.regex(/^[0-9a-f]{16}$/)),
  scope: z.optional(z.string()),
});

export const checkAnswerSchema = z.object({
  client: nameSchema,
  service: nameSchema,
  stage: z.enum(SECRET_STAGES),
  finding: z.enum(FINDINGS),
  version: z.optional(z.string()),
  checked_at: z.iso.datetime(),
  proven_by: z.enum(PROOFS),
  expires_in: z.optional(z.int().check(z.gte(0))),
});

export const shapeMemberSchema = z.object({
  path: z.string(),
  type: z.enum(['string', 'number', 'boolean', 'null', 'object', 'array']),
  length: z.optional(z.int().check(z.gte(0))),
});

export const responseShapeSchema = z.object({
  status: z.int().check(z.gte(100), z.lte(999)),
  contentType: z.string(),
  bytes: z.int().check(z.gte(0)),
  members: z.array(shapeMemberSchema).check(z.maxLength(32)),
});

export const PROBLEM_TYPES = Object.keys(PROBLEMS) as readonly ProblemType[];

export const problemAnswerSchema = z.object({
  type: z.enum(PROBLEM_TYPES),
  title: z.string(),
  status: z.int().check(z.gte(400), z.lte(599)),
  detail: z.string(),
  retryable: z.boolean(),
  request_id: z.string(),
  response_shape: z.optional(responseShapeSchema),
});

/** Does not compile when a schema and what the handler writes differ in a member, its type, or whether it is optional. */
({
  token: true,
  check: true,
  problem: true,
}) satisfies {
  token: Same<z.infer<typeof tokenAnswerSchema>, TokenAnswer>;
  check: Same<z.infer<typeof checkAnswerSchema>, CheckAnswer>;
  problem: Same<z.infer<typeof problemAnswerSchema>, ProblemAnswer>;
};
