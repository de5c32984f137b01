import type { ShapeMember, ShapeReport } from '../problem.ts';
import { isPlainWord } from '../redacted.ts';
import { type DecodedBody, mediaTypeOf } from './body.ts';
import { expiryNameOf } from './expiry-value.ts';
import { isTokenName } from './find-token.ts';
import { type MemberPath, type PrintPath, plainName } from './members.ts';
import type { TokenResponse } from './types.ts';

/** Tells the form of an answer, so that an operator can see what the service sends, and no value of it. */
export function shapeOf(response: TokenResponse, body: DecodedBody): ShapeReport {
  const members: ShapeMember[] = [];
  if (body.format !== 'unreadable') describe(body.value, [], createPathPrinter(body.value), members);
  return {
    status: response.status,
    contentType: shownType(mediaTypeOf(response.headers['content-type'])),
    bytes: response.body.length,
    members,
  };
}

const MAX_MEMBERS = 32;
const MAX_DEPTH = 4;

/** A service can write anything into this header, so only what is known is repeated. */
const KNOWN_TYPES: ReadonlySet<string> = new Set([
  ...['application/json', 'text/json', 'application/problem+json', 'application/hal+json', 'application/vnd.api+json'],
  ...['text/plain', 'text/html', 'application/xhtml+xml', 'text/xml', 'application/xml', 'application/soap+xml'],
  ...['application/x-www-form-urlencoded', 'multipart/form-data', 'application/jwt', 'application/octet-stream'],
  ...['text/javascript', 'application/javascript', 'image/png', 'image/gif', 'image/jpeg'],
]);

function shownType(type: string | undefined): string {
  if (type === undefined) return 'none';
  return KNOWN_TYPES.has(type) ? type : 'other';
}

function describe(value: unknown, path: MemberPath, print: PrintPath, members: ShapeMember[]): void {
  members.push({ path: print(path), ...typeOf(value) });
  if (typeof value !== 'object' || value === null || path.length === MAX_DEPTH) return;
  // The entries of an array are alike, as a rule: one of them tells enough.
  const entries = Array.isArray(value) ? Object.entries(value.slice(0, 1)) : Object.entries(value);
  for (const [name, one] of entries) {
    if (members.length >= MAX_MEMBERS) return;
    describe(one, [...path, name], print, members);
  }
}

function typeOf(value: unknown): Pick<ShapeMember, 'type' | 'length'> {
  if (typeof value === 'string') return { type: 'string', length: value.length };
  if (typeof value === 'number') return { type: 'number' };
  if (typeof value === 'boolean') return { type: 'boolean' };
  if (Array.isArray(value)) return { type: 'array', length: value.length };
  return value === null || value === undefined
    ? { type: 'null' }
    : { type: 'object', length: Object.keys(value).length };
}

/**
 * Makes what prints the paths of one answer: dotted, as the settings take them, `$` for the answer itself. A name is
 * shown when it is one that the broker knows, or a plain word that is not also a value of the answer; any other could
 * be a secret (a token that is used as a key) and becomes `*`.
 */
export function createPathPrinter(answer: unknown): PrintPath {
  const texts = shortTexts(answer);
  const print = (name: string) =>
    isKnownName(name) || (isPlainWord(name, MAX_NAME_LENGTH) && !holdsText(name, texts)) ? name : '*';
  return (path) => (path.length === 0 ? '$' : path.map(print).join('.'));
}

/** What makes a text secret enough to look for, and the longest name that is ever shown. */
const MIN_TEXT_LENGTH = 4;
const MAX_NAME_LENGTH = 32;

const KNOWN_NAMES: ReadonlySet<string> = new Set([
  ...['data', 'result', 'results', 'response', 'payload', 'body', 'content', 'user', 'meta', 'status', 'success'],
  ...['value', 'type', 'tokentype', 'scope', 'refreshtoken'],
  ...['error', 'errors', 'errordescription', 'errorcode', 'message', 'code'],
]);

function isKnownName(name: string): boolean {
  return KNOWN_NAMES.has(plainName(name)) || isTokenName(name) || expiryNameOf(name) !== undefined;
}

function holdsText(name: string, texts: ReadonlySet<string>): boolean {
  for (let start = 0; start <= name.length - MIN_TEXT_LENGTH; start += 1) {
    for (let end = start + MIN_TEXT_LENGTH; end <= name.length; end += 1) {
      if (texts.has(name.slice(start, end))) return true;
    }
  }
  return false;
}

/** Every text of the answer that would fit into a name; walked without recursion, however deep the answer is. */
function shortTexts(answer: unknown): ReadonlySet<string> {
  const texts = new Set<string>();
  const values: unknown[] = [answer];
  while (values.length > 0) {
    const value = values.pop();
    if (typeof value === 'string' && value.length <= MAX_NAME_LENGTH) texts.add(value);
    if (typeof value === 'object' && value !== null) for (const one of Object.values(value)) values.push(one);
  }
  return texts;
}
