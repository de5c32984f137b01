import * as z from 'zod/mini';
import type { SecretStage } from '../credential/secret.ts';
import type { Pair } from '../pair/pair.ts';
import { nameSchema, parseMembers } from './issue-request.ts';
import { parseBody } from './request-body.ts';

/** What a caller asks for with `POST /check`. */
export interface CheckRequest {
  readonly pair: Pair;
  readonly stage: SecretStage;
}

/** The members of `POST /check`, as they stand in JSON. */
export const checkRequestSchema = z.strictObject({
  client: nameSchema,
  service: nameSchema,
  stage: z.optional(
    z.enum(['AWSCURRENT', 'AWSPENDING', 'AWSPREVIOUS'], { error: 'must be AWSCURRENT, AWSPENDING or AWSPREVIOUS' }),
  ),
});

/** Reads the body of `POST /check`; throws the problem that names every wrong member and why, and no value. */
export function parseCheckRequest(contentType: string | undefined, body: string | Uint8Array): CheckRequest {
  const members = parseMembers(checkRequestSchema, parseBody(contentType, body));
  const { client, service, stage = 'AWSCURRENT' } = members;
  return { pair: { client, service }, stage };
}
