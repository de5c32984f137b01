import { NAME_PATTERN, SECRET_STAGES, type SecretStage } from '../../contract.ts';
import { duplicateMember, isRecord, parseJson } from '../json.ts';
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
  const members = parseMembers(contentType, body);
  const faults: string[] = [];
  const pair = pairOf(members, faults);
  const minTtlMs = minTtlOf(members, faults) * 1_000;
  const refused = refusedOf(members, faults);
  refuseWrong(members, ['client', 'service', 'min_ttl', 'refused'], faults);
  return { pair, minTtlMs, refused };
}

/** Reads the body of `POST /check` like that of `POST /token`. */
export function parseCheckRequest(contentType: string | undefined, body: string | Uint8Array): CheckRequest {
  const members = parseMembers(contentType, body);
  const faults: string[] = [];
  const pair = pairOf(members, faults);
  const stage = stageOf(members, faults);
  refuseWrong(members, ['client', 'service', 'stage'], faults);
  return { pair, stage };
}

/** Reads the body of `POST /whoami`, which has no members, so that its media type says nothing. */
export function parseWhoamiRequest(body: string | Uint8Array): void {
  const text = readText(body);
  refuseWrong(text === '' ? {} : readJson(text), [], []);
}

type Members = Readonly<Record<string, unknown>>;

function pairOf({ client, service }: Members, faults: string[]): Pair {
  return { client: nameOf('client', client, faults), service: nameOf('service', service, faults) };
}

function nameOf(member: string, name: unknown, faults: string[]): string {
  if (typeof name === 'string' && NAME_PATTERN.test(name)) return name;
  const isText = typeof name === 'string';
  faults.push(`${member}: ${isText ? NAME_RULE : name === undefined ? 'is required' : 'must be a string'}`);
  return '';
}

function minTtlOf({ min_ttl: seconds }: Members, faults: string[]): number {
  if (seconds === undefined) return 0;
  if (typeof seconds !== 'number' || !Number.isSafeInteger(seconds)) {
    faults.push('min_ttl: must be a whole number of seconds');
  } else if (seconds < 0) faults.push('min_ttl: must be 0 or more');
  else if (seconds > MAX_MIN_TTL_SECONDS) faults.push('min_ttl: must be 86400 (one day) or less');
  else return seconds;
  return 0;
}

function refusedOf({ refused }: Members, faults: string[]): string | undefined {
  if (refused === undefined) return undefined;
  if (typeof refused !== 'string') faults.push('refused: must be a string');
  else if (!/^[0-9a-f]{16}$/.test(refused)) faults.push(`refused: ${FINGERPRINT_RULE}`);
  else return refused;
  return undefined;
}

function stageOf({ stage: given = 'AWSCURRENT' }: Members, faults: string[]): SecretStage {
  const stage = SECRET_STAGES.find((one) => one === given);
  if (stage === undefined) faults.push('stage: must be AWSCURRENT, AWSPENDING or AWSPREVIOUS');
  return stage ?? 'AWSCURRENT';
}

function refuseWrong(members: Members, known: readonly string[], faults: readonly string[]): void {
  const unknown = Object.keys(members).filter((name) => !known.includes(name));
  const all = unknown.length === 0 ? faults : [...faults, `unknown member ${unknown.map(shownName).join(', ')}`];
  if (all.length > 0) throw new Problem('invalid-request', `${all.join('; ')}.`);
}

/** Reads a body of the two media types into its members. */
function parseMembers(contentType: string | undefined, sent: string | Uint8Array): Members {
  const type = mediaType(contentType);
  if (type !== JSON_TYPE && type !== FORM_TYPE) {
    const types = `${JSON_TYPE} or ${FORM_TYPE}`;
    throw new Problem('unsupported-media-type', `Send ${types}, in UTF-8, and name it in the content-type header.`);
  }
  return type === JSON_TYPE ? readJson(readText(sent)) : parseForm(readText(sent));
}

const NAME_RULE = 'must be 1 to 63 letters, digits, ".", "_" or "-", and start with a letter or digit';
const FINGERPRINT_RULE = 'must be the fingerprint of an issued token: 16 hexadecimal digits in lower case';
const MAX_MIN_TTL_SECONDS = 86_400;

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

function readText(sent: string | Uint8Array): string {
  const body = typeof sent === 'string' ? new TextEncoder().encode(sent) : sent;
  const { byteLength } = body;
  if (byteLength > MAX_BODY_BYTES) {
    throw new Problem('content-too-large', `The body has ${byteLength} bytes; at most ${MAX_BODY_BYTES} are read.`);
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(body);
  } catch {
    throw new Problem('invalid-request', 'The body is not valid UTF-8.');
  }
}

function readJson(text: string): Members {
  const value = parseJson(text);
  if (value === undefined) throw new Problem('invalid-request', 'The body is not valid JSON.');
  if (!isRecord(value)) throw new Problem('invalid-request', 'the body must be an object.');
  const twice = duplicateMember(text);
  if (twice !== undefined) throw new Problem('invalid-request', `${shownName(twice)}: is given more than once.`);
  return value;
}

/** A form knows only texts, so digits become the number that the same member would be in JSON. */
function parseForm(text: string): Members {
  const members = new Map<string, string | number>();
  for (const [name, value] of new URLSearchParams(text)) {
    if (members.has(name)) throw new Problem('invalid-request', `${shownName(name)}: is given more than once.`);
    members.set(name, name === 'min_ttl' && /^\d{1,9}$/.test(value) ? Number(value) : value);
  }
  return Object.fromEntries(members);
}

/**
 * How the name of a member that a caller chose goes back to it: one that is no word, or several, may be a token or a
 * passphrase that was sent as a whole form, and callers write our problems into their logs.
 */
function shownName(name: string): string {
  return /^\w+$/.test(name) && isPlainWord(name) ? `"${name}"` : 'whose name is not shown';
}
