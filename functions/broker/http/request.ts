import * as z from 'zod/mini';
import { NAME_PATTERN, SECRET_STAGES, type SecretStage } from '../../contract.ts';
import type { Pair } from '../pair/pair.ts';
import { Problem } from '../problem.ts';
import { isPlainWord } from '../redacted.ts';

/** What a caller asks for with `POST /token`. */
export interface IssueRequest {
  readonly pair: Pair;
  /** How long the token should still live; a target, not a condition. */
  readonly minTtlMs: number;
  /** The fingerprint of a token that the service turned away. */
  readonly refused: string | undefined;
}

/** What a caller asks for with `POST /check`. */
export interface CheckRequest {
  readonly pair: Pair;
  readonly stage: SecretStage;
}

/** Reads the body of `POST /token`; throws the problem that names every wrong member and why, and no value. */
export function parseIssueRequest(contentType: string | undefined, body: string | Uint8Array): IssueRequest {
  const { client, service, min_ttl = 0, refused } = parse(issueRequestSchema, contentType, body);
  return { pair: { client, service }, minTtlMs: min_ttl * 1_000, refused };
}

/** Reads the body of `POST /check` like that of `POST /token`. */
export function parseCheckRequest(contentType: string | undefined, body: string | Uint8Array): CheckRequest {
  const { client, service, stage = 'AWSCURRENT' } = parse(checkRequestSchema, contentType, body);
  return { pair: { client, service }, stage };
}

/** A client or a service. */
const nameSchema = z
  .string({ error: requiredOr('must be a string') })
  .check(z.regex(NAME_PATTERN, 'must be 1 to 63 letters, digits, ".", "_" or "-", and start with a letter or digit'));

const minTtl = z
  .int({ error: 'must be a whole number of seconds' })
  .check(z.gte(0, 'must be 0 or more'), z.lte(86_400, 'must be 86400 (one day) or less'));

const fingerprint = z
  .string({ error: 'must be a string' })
  .check(z.regex(/^[0-9a-f]{16}$/, 'must be the fingerprint of an issued token: 16 hexadecimal digits in lower case'));

/** The members of `POST /token`, as they stand in JSON. */
const issueRequestSchema = z.strictObject({
  client: nameSchema,
  service: nameSchema,
  min_ttl: z.optional(minTtl),
  refused: z.optional(fingerprint),
});

/** The members of `POST /check`, as they stand in JSON. */
const checkRequestSchema = z.strictObject({
  client: nameSchema,
  service: nameSchema,
  stage: z.optional(z.enum(SECRET_STAGES, { error: 'must be AWSCURRENT, AWSPENDING or AWSPREVIOUS' })),
});

/** Reads a body of the two media types into the members of a schema. */
function parse<Schema extends z.ZodMiniType>(
  schema: Schema,
  contentType: string | undefined,
  sent: string | Uint8Array,
): z.infer<Schema> {
  const type = mediaType(contentType);
  if (type !== JSON_TYPE && type !== FORM_TYPE) {
    const types = `${JSON_TYPE} or ${FORM_TYPE}`;
    throw new Problem('unsupported-media-type', `Send ${types}, in UTF-8, and name it in the content-type header.`);
  }
  const body = typeof sent === 'string' ? new TextEncoder().encode(sent) : sent;
  const { byteLength } = body;
  if (byteLength > MAX_BODY_BYTES) {
    throw new Problem('content-too-large', `The body has ${byteLength} bytes; at most ${MAX_BODY_BYTES} are read.`);
  }
  const result = schema.safeParse(type === JSON_TYPE ? parseJson(decode(body)) : parseForm(decode(body)));
  if (result.success) return result.data;
  throw new Problem('invalid-request', `${result.error.issues.map(explain).join('; ')}.`);
}

const JSON_TYPE = 'application/json';
const FORM_TYPE = 'application/x-www-form-urlencoded';

/** 16 KiB: far more than a request needs, far less than a parser could be hurt with. */
const MAX_BODY_BYTES = 16 * 1024;

/** The media type in lower case, or `''` when it names a charset other than UTF-8. */
function mediaType(contentType = ''): string {
  const [type = '', ...parameters] = contentType.toLowerCase().split(';');
  const foreign = parameters.some((parameter) => /^\s*charset\s*=(?!\s*"?(utf-8|us-ascii)"?\s*$)/.test(parameter));
  return foreign ? '' : type.trim();
}

function explain(issue: z.core.$ZodIssue): string {
  if (issue.code === 'unrecognized_keys') return `unknown member ${issue.keys.map(shownName).join(', ')}`;
  if (issue.path.length === 0) return 'the body must be an object';
  return `${issue.path.join('.')}: ${issue.message}`;
}

function requiredOr(message: string) {
  return ({ input }: { readonly input?: unknown }) => (input === undefined ? 'is required' : message);
}

function decode(body: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(body);
  } catch {
    throw new Problem('invalid-request', 'The body is not valid UTF-8.');
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Problem('invalid-request', 'The body is not valid JSON.');
  }
}

/** A form knows only texts, so digits become the number that the same member would be in JSON. */
function parseForm(text: string): unknown {
  const members = new Map<string, string | number>();
  for (const [name, value] of new URLSearchParams(text)) {
    if (members.has(name)) throw new Problem('invalid-request', `${shownName(name)}: is given more than once.`);
    members.set(name, name === 'min_ttl' && /^\d{1,9}$/.test(value) ? Number(value) : value);
  }
  return Object.fromEntries(members);
}

/**
 * How the name of a member that a caller chose goes back to it: one that is no word may be a token that was sent as a
 * whole form, and callers write our problems into their logs.
 */
function shownName(name: string): string {
  return isPlainWord(name) ? `"${name}"` : 'whose name is not shown';
}
