import { name } from './issue-request.ts';
import type { Pair } from './pair.ts';
import { parseBody } from './request-body.ts';
import { oneOf, optional, parseMembers } from './request-members.ts';
import type { SecretStage } from './secret.ts';

/** What a caller asks for with `POST /check`. */
export interface CheckRequest {
  readonly pair: Pair;
  readonly stage: SecretStage;
}

/** The members of `POST /check`, as they stand in JSON. */
const MEMBERS = {
  client: name,
  service: name,
  stage: optional(oneOf(['AWSCURRENT', 'AWSPENDING', 'AWSPREVIOUS'], 'must be AWSCURRENT, AWSPENDING or AWSPREVIOUS')),
};

/** Reads the body of `POST /check`; throws the problem that names every wrong member and why, and no value. */
export function parseCheckRequest(contentType: string | undefined, body: string | Uint8Array): CheckRequest {
  const members = parseMembers(MEMBERS, parseBody(contentType, body));
  const { client, service, stage = 'AWSCURRENT' } = members;
  return { pair: { client, service }, stage };
}
