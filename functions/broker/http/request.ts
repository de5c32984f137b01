import { NAME_PATTERN, SECRET_STAGES } from '../../vocabulary.ts';
import type { CheckRequest } from '../check-credential.ts';
import { decodeText, duplicateMember, isRecord, type Members, mediaTypeOf, parseJson } from '../json.ts';
import type { IssueRequest } from '../pair/decision.ts';
import type { Pair } from '../pair.ts';
import { isPlainWord } from '../plain-word.ts';
import { Problem } from '../problem.ts';

/** The body as it was sent. */
export type Body = string | Uint8Array;

/** The dialect of a request for a token, and of its answer: that of docs/openapi.yaml, or that of RFC 6749. */
export type Dialect = 'broker' | 'oauth';

/** Reads the body of `POST /token`. @throws Problem with every wrong member and the reason, and no value */
export function parseIssueRequest(contentType: string | undefined, body: Body): IssueRequest {
  return toIssueRequest(readMembers(contentType, body));
}

/** Returns the parameters of an OAuth 2.0 token request that have a value (RFC 6749 §3.2), else `undefined`. */
export function readOAuthForm(contentType: string | undefined, body: Body): URLSearchParams | undefined {
  try {
    const parameters = [...(readParameters(contentType, body) ?? [])].filter(([, value]) => value !== '');
    return parameters.some(([name]) => name === 'grant_type') ? new URLSearchParams(parameters) : undefined;
  } catch {
    // `parseIssueRequest` reports the reason.
    return undefined;
  }
}

/**
 * Reads `client_id` as the client and `scope` as the service (RFC 6749 §4.4.2). Ignores other parameters, even the
 * secret, because the signature identifies the caller. @throws Problem
 */
export function parseOAuthForm(form: URLSearchParams): IssueRequest {
  const known = [...form].filter(([name]) => KNOWN.has(name));
  const { grant_type: grantType, client_id: client, scope: service, ...others } = readForm(known);
  // The cause is the error code of OAuth 2.0.
  if (grantType !== 'client_credentials') {
    const detail = 'grant_type: must be client_credentials.';
    throw new Problem('invalid-request', detail, { cause: 'unsupported_grant_type' });
  }
  if (faultOfName(service) !== undefined) {
    const detail = 'scope: must be the name of one service, which issues the token.';
    throw new Problem('invalid-request', detail, { cause: 'invalid_scope' });
  }
  return toIssueRequest({ client, service, ...others }, 'client_id');
}

const KNOWN: ReadonlySet<string> = new Set(['grant_type', 'client_id', 'scope', 'min_ttl', 'refused']);

/** Checks the members of a request. `clientName` is the name of the member `client` in the dialect. @throws Problem */
function toIssueRequest(members: Members, clientName = 'client'): IssueRequest {
  refuseWrong(members, ['client', 'service', 'min_ttl', 'refused'], clientName);
  const { min_ttl: seconds = 0, refused } = members;
  const minTtlMs = Number(seconds) * 1_000;
  return { pair: pairOf(members), minTtlMs, refused: refused === undefined ? undefined : String(refused) };
}

/** Reads the body of `POST /check` like that of `POST /token`. */
export function parseCheckRequest(contentType: string | undefined, body: Body): CheckRequest {
  const members = readMembers(contentType, body);
  refuseWrong(members, ['client', 'service', 'stage']);
  return { pair: pairOf(members), stage: SECRET_STAGES.find((stage) => stage === members.stage) ?? 'AWSCURRENT' };
}

/** Reads the body of `POST /whoami`. It has no members, so any media type is accepted. */
export function parseWhoamiRequest(body: Body): void {
  const text = readText(body);
  refuseWrong(text === '' ? {} : readJson(text), []);
}

function pairOf({ client, service }: Members): Pair {
  return { client: String(client), service: String(service) };
}

function readMembers(contentType: string | undefined, body: Body): Members {
  const form = readParameters(contentType, body);
  return form === undefined ? readJson(readText(body)) : readForm(form);
}

/** Returns the parameters of a form, `undefined` for JSON. @throws Problem for any other or unreadable body */
function readParameters(contentType = '', body: Body): URLSearchParams | undefined {
  const type = mediaTypeOf(contentType);
  if ((type !== JSON_TYPE && type !== FORM_TYPE) || FOREIGN_CHARSET.test(contentType)) {
    const types = `${JSON_TYPE} or ${FORM_TYPE}`;
    throw new Problem('unsupported-media-type', `Send ${types}, in UTF-8, and name it in the content-type header.`);
  }
  return type === FORM_TYPE ? new URLSearchParams(readText(body)) : undefined;
}

const JSON_TYPE = 'application/json';
const FORM_TYPE = 'application/x-www-form-urlencoded';
/** Java's HTTP libraries declare Latin-1 by default. A request that is correct consists of ASCII. */
const FOREIGN_CHARSET = /;\s*charset\s*=(?!\s*"?(?:utf-?8|us-ascii|iso-8859-1)"?\s*(?:;|$))/i;

function refuseWrong(members: Members, known: readonly (keyof typeof FAULTS)[], clientName = 'client'): void {
  const faults = known.flatMap((name) => {
    const fault = FAULTS[name](members[name]);
    return fault === undefined ? [] : [`${name === 'client' ? clientName : name}: ${fault}`];
  });
  const unknown = Object.keys(members).filter((name) => !known.some((member) => member === name));
  if (unknown.length > 0) faults.push(`unknown member ${unknown.map(shownName).join(', ')}`);
  if (faults.length > 0) throw invalid(`${faults.join('; ')}.`);
}

/** Each returns the fault of a member's value, or `undefined`. */
const FAULTS = {
  client: faultOfName,
  service: faultOfName,
  min_ttl(seconds: unknown = 0) {
    if (typeof seconds !== 'number' || !Number.isSafeInteger(seconds)) return 'must be a whole number of seconds';
    if (seconds < 0) return 'must be 0 or more';
    return seconds > 86_400 ? 'must be 86400 (one day) or less' : undefined;
  },
  refused(fingerprint: unknown) {
    if (fingerprint === undefined) return undefined;
    if (typeof fingerprint !== 'string') return 'must be a string';
    const rule = 'must be the fingerprint of an issued token: 16 hexadecimal digits in lower case';
    return /^[0-9a-f]{16}$/.test(fingerprint) ? undefined : rule;
  },
  stage(stage: unknown = 'AWSCURRENT') {
    return SECRET_STAGES.some((name) => name === stage) ? undefined : 'must be AWSCURRENT, AWSPENDING or AWSPREVIOUS';
  },
};

/** Returns why a value is not the name of a client or a service. */
function faultOfName(name: unknown): string | undefined {
  if (typeof name !== 'string') return name === undefined ? 'is required' : 'must be a string';
  const rule = 'must be 1 to 63 letters, digits, ".", "_" or "-", and start with a letter or digit';
  return NAME_PATTERN.test(name) ? undefined : rule;
}

/** Far above the size of any request, far below a size that is expensive to parse. */
const MAX_BODY_BYTES = 16 * 1024;

function readText(body: Body): string {
  const bytes = typeof body === 'string' ? new TextEncoder().encode(body) : body;
  if (bytes.length > MAX_BODY_BYTES) {
    throw new Problem('content-too-large', `The body has ${bytes.length} bytes; at most ${MAX_BODY_BYTES} are read.`);
  }
  const text = decodeText(bytes);
  if (text === undefined) throw invalid('The body is not valid UTF-8.');
  return text;
}

function readJson(text: string): Members {
  const value = parseJson(text);
  if (value === undefined) throw invalid('The body is not valid JSON.');
  if (!isRecord(value)) throw invalid('The body must be an object.');
  const twice = duplicateMember(text);
  if (twice !== undefined) throw invalid(`${shownName(twice)}: appears more than once.`);
  return value;
}

/** Reads the parameters of a form. The digits of `min_ttl` become a number, as in JSON. @throws Problem */
function readForm(parameters: Iterable<[string, string]>): Members {
  const members = new Map<string, string | number>();
  for (const [name, value] of parameters) {
    if (members.has(name)) throw invalid(`${shownName(name)}: appears more than once.`);
    members.set(name, name === 'min_ttl' && /^\d{1,9}$/.test(value) ? Number(value) : value);
  }
  return Object.fromEntries(members);
}

/** Shows plain words only. Callers log problems, and an unknown name may be a token that was sent as a whole form. */
function shownName(name: string): string {
  return /^\w+$/.test(name) && isPlainWord(name) ? `"${name}"` : 'whose name is not shown';
}

function invalid(detail: string): Problem {
  return new Problem('invalid-request', detail);
}
