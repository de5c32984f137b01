import * as z from 'zod/mini';
import { MemoryCache } from '../lru-cache.ts';
import { NAME_PATTERN, type Pair } from '../pair/pair.ts';
import { Problem } from '../problem.ts';
import { parseBody, shownName } from './request-body.ts';

/** What a caller asks for with `POST /token`. */
export interface IssueRequest {
  readonly pair: Pair;
  /** How long the token should still live; a target, not a condition. */
  readonly minTtlMs: number;
  /** The fingerprint of a token that the service turned away. */
  readonly refused: string | undefined;
}

/** A client or a service. */
export const nameSchema = z
  .string({ error: requiredOr('must be a string') })
  .check(z.regex(NAME_PATTERN, 'must be 1 to 63 letters, digits, ".", "_" or "-", and start with a letter or digit'));

const minTtl = z
  .int({ error: 'must be a whole number of seconds' })
  .check(z.gte(0, 'must be 0 or more'), z.lte(86_400, 'must be 86400 (one day) or less'));

const fingerprint = z
  .string({ error: 'must be a string' })
  .check(z.regex(/^[0-9a-f]{16}$/, 'must be the fingerprint of an issued token: 16 hexadecimal digits in lower case'));

/** The members of `POST /token`, as they stand in JSON. */
export const issueRequestSchema = z.strictObject({
  client: nameSchema,
  service: nameSchema,
  min_ttl: z.optional(minTtl),
  refused: z.optional(fingerprint),
});

export type ReadIssueRequest = (contentType: string | undefined, body: string | Uint8Array) => IssueRequest;

/**
 * `parseIssueRequest`, which remembers what it has read: a caller asks in the same words again and again. What is wrong,
 * long or in base64 is read each time.
 */
export function createIssueRequestReader(): ReadIssueRequest {
  const known = new MemoryCache<IssueRequest>(MAX_KNOWN);

  return (contentType, body) => {
    const isShort = body.length + (contentType?.length ?? 0) <= MAX_KNOWN_LENGTH;
    if (typeof body !== 'string' || !isShort) return parseIssueRequest(contentType, body);
    const key = wordsKey(contentType, body);
    const before = known.get(key);
    if (before !== undefined) return before;
    const request = parseIssueRequest(contentType, body);
    known.set(key, request);
    return request;
  };
}

/** Says where the one ends and the other begins, so that two requests never share a key. */
function wordsKey(contentType = '', body: string): string {
  return `${contentType.length} ${contentType}${body}`;
}

const MAX_KNOWN = 1_000;
/** In characters: the longest names, a `min_ttl` and a `refused` fit in, and a thousand of them do not fill a memory. */
const MAX_KNOWN_LENGTH = 300;

/** Reads the body of `POST /token`; throws the problem that names every wrong member and why, and no value. */
export function parseIssueRequest(contentType: string | undefined, body: string | Uint8Array): IssueRequest {
  const { client, service, min_ttl = 0, refused } = parseMembers(issueRequestSchema, parseBody(contentType, body));
  return { pair: { client, service }, minTtlMs: min_ttl * 1_000, refused };
}

/** Checks the members of a body; throws the problem that names every wrong one and why. */
export function parseMembers<Schema extends z.ZodMiniType>(schema: Schema, members: unknown): z.infer<Schema> {
  const result = schema.safeParse(members);
  if (result.success) return result.data;
  throw new Problem('invalid-request', `${result.error.issues.map(explain).join('; ')}.`);
}

function explain(issue: z.core.$ZodIssue): string {
  if (issue.code === 'unrecognized_keys') return `unknown member ${issue.keys.map(shownName).join(', ')}`;
  if (issue.path.length === 0) return 'the body must be an object';
  return `${issue.path.join('.')}: ${issue.message}`;
}

function requiredOr(message: string) {
  return ({ input }: { readonly input?: unknown }) => (input === undefined ? 'is required' : message);
}
