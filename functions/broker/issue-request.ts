import { MemoryCache } from './memory-cache.ts';
import { NAME_PATTERN, type Pair } from './pair.ts';
import { parseBody } from './request-body.ts';
import { type MemberCheck, optional, parseMembers, text } from './request-members.ts';

/** What a caller asks for with `POST /token`. */
export interface IssueRequest {
  readonly pair: Pair;
  /** How long the token should still live; a target, not a condition. */
  readonly minTtlMs: number;
  /** The fingerprint of a token that the service turned away. */
  readonly refused: string | undefined;
}

/** A client or a service. */
export const name = text(
  NAME_PATTERN,
  'must be 1 to 63 letters, digits, ".", "_" or "-", and start with a letter or digit',
);

const minTtl: MemberCheck<number> = (value) => {
  if (typeof value !== 'number' || !Number.isSafeInteger(value)) return 'must be a whole number of seconds';
  if (value < 0) return 'must be 0 or more';
  return value > MAX_MIN_TTL ? `must be ${MAX_MIN_TTL} (one day) or less` : undefined;
};
const MAX_MIN_TTL = 86_400;

const fingerprint = text(
  /^[0-9a-f]{16}$/,
  'must be the fingerprint of an issued token: 16 hexadecimal digits in lower case',
);

/** The members of `POST /token`, as they stand in JSON. */
const MEMBERS = { client: name, service: name, min_ttl: optional(minTtl), refused: optional(fingerprint) };

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
  const { client, service, min_ttl = 0, refused } = parseMembers(MEMBERS, parseBody(contentType, body));
  return { pair: { client, service }, minTtlMs: min_ttl * 1_000, refused };
}
