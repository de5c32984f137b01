import { NAME_PATTERN, SECRET_STAGES } from '../../contract.ts';
import type { CheckRequest } from '../check-credential.ts';
import { decodeUtf8, duplicateMember, isRecord, parseJson } from '../json.ts';
import { mediaTypeOf } from '../media-type.ts';
import type { IssueRequest } from '../pair/decision.ts';
import type { Pair } from '../pair.ts';
import { isPlainWord } from '../plain-word.ts';
import { Problem } from '../problem.ts';

type Body = string | Uint8Array;

/** Reads the body of `POST /token`; throws the problem that names every wrong member and why, and no value. */
export function parseIssueRequest(contentType: string | undefined, body: Body): IssueRequest {
  const members = parseMembers(contentType, body, ['client', 'service', 'min_ttl', 'refused']);
  const { min_ttl: seconds = 0, refused } = members;
  const minTtlMs = Number(seconds) * 1_000;
  return { pair: pairOf(members), minTtlMs, refused: refused === undefined ? undefined : String(refused) };
}

/** Reads the body of `POST /check` like that of `POST /token`. */
export function parseCheckRequest(contentType: string | undefined, body: Body): CheckRequest {
  const members = parseMembers(contentType, body, ['client', 'service', 'stage']);
  return { pair: pairOf(members), stage: SECRET_STAGES.find((stage) => stage === members.stage) ?? 'AWSCURRENT' };
}

/** Reads the body of `POST /whoami`, which has no members, so any media type will do. */
export function parseWhoamiRequest(body: Body): void {
  const text = readText(body);
  refuseWrong(text === '' ? {} : readJson(text), []);
}

type Members = Readonly<Record<string, unknown>>;

function pairOf({ client, service }: Members): Pair {
  return { client: String(client), service: String(service) };
}

/** Reads a body in either media type; throws unless every member is right. */
function parseMembers(contentType = '', body: Body, known: readonly (keyof typeof FAULTS)[]): Members {
  const type = mediaTypeOf(contentType);
  if ((type !== JSON_TYPE && type !== FORM_TYPE) || FOREIGN_CHARSET.test(contentType)) {
    const types = `${JSON_TYPE} or ${FORM_TYPE}`;
    throw new Problem('unsupported-media-type', `Send ${types}, in UTF-8, and name it in the content-type header.`);
  }
  const members = type === JSON_TYPE ? readJson(readText(body)) : readForm(readText(body));
  refuseWrong(members, known);
  return members;
}

const JSON_TYPE = 'application/json';
const FORM_TYPE = 'application/x-www-form-urlencoded';
const FOREIGN_CHARSET = /;\s*charset\s*=(?!\s*"?(?:utf-8|us-ascii)"?\s*(?:;|$))/i;

function refuseWrong(members: Members, known: readonly (keyof typeof FAULTS)[]): void {
  const faults = known.flatMap((name) => {
    const fault = FAULTS[name](members[name]);
    return fault === undefined ? [] : [`${name}: ${fault}`];
  });
  const unknown = Object.keys(members).filter((name) => !known.some((one) => one === name));
  if (unknown.length > 0) faults.push(`unknown member ${unknown.map(shownName).join(', ')}`);
  if (faults.length > 0) throw invalid(`${faults.join('; ')}.`);
}

/** The fault of each member's value, if any. */
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
    return SECRET_STAGES.some((one) => one === stage) ? undefined : 'must be AWSCURRENT, AWSPENDING or AWSPREVIOUS';
  },
};

function faultOfName(name: unknown): string | undefined {
  if (typeof name !== 'string') return name === undefined ? 'is required' : 'must be a string';
  const rule = 'must be 1 to 63 letters, digits, ".", "_" or "-", and start with a letter or digit';
  return NAME_PATTERN.test(name) ? undefined : rule;
}

/** Far above the size of any request, far below one that could hurt a parser. */
const MAX_BODY_BYTES = 16 * 1024;

function readText(sent: Body): string {
  const body = typeof sent === 'string' ? new TextEncoder().encode(sent) : sent;
  const { byteLength } = body;
  if (byteLength > MAX_BODY_BYTES) {
    throw new Problem('content-too-large', `The body has ${byteLength} bytes; at most ${MAX_BODY_BYTES} are read.`);
  }
  const text = decodeUtf8(body);
  if (text === undefined) throw invalid('The body is not valid UTF-8.');
  return text;
}

function readJson(text: string): Members {
  const value = parseJson(text);
  if (value === undefined) throw invalid('The body is not valid JSON.');
  if (!isRecord(value)) throw invalid('The body must be an object.');
  const twice = duplicateMember(text);
  if (twice !== undefined) throw invalid(`${shownName(twice)}: is given more than once.`);
  return value;
}

/** A form knows only texts, so digits become the number that the same member would be in JSON. */
function readForm(text: string): Members {
  const members = new Map<string, string | number>();
  for (const [name, value] of new URLSearchParams(text)) {
    if (members.has(name)) throw invalid(`${shownName(name)}: is given more than once.`);
    members.set(name, name === 'min_ttl' && /^\d{1,9}$/.test(value) ? Number(value) : value);
  }
  return Object.fromEntries(members);
}

/** Callers log problems, and an unknown name may be a token that was sent as a whole form: only plain words are shown. */
function shownName(name: string): string {
  return /^\w+$/.test(name) && isPlainWord(name) ? `"${name}"` : 'whose name is not shown';
}

function invalid(detail: string): Problem {
  return new Problem('invalid-request', detail);
}
