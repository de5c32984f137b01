import { type Credential, repeatsCredential, secretsOf } from '../credential/credential.ts';
import { isRecord, mediaTypeOf } from '../json.ts';
import { isPlainWord } from '../plain-word.ts';
import type { ShapeMember, ShapeReport } from '../problem.ts';
import { shows, textsIn } from '../redacted.ts';
import { type Content, openText, type TokenResponse } from './content.ts';
import { expiryNameOf, plainName, plainText, TOKEN_NAMES } from './names.ts';

/** Prints a member's path, the outermost name first, without revealing a value of the answer. */
export type PrintPath = (path: readonly string[]) => string;

/** Describes the form of an answer with this content, without any value. */
export function shapeOf(response: TokenResponse, content: Content = {}, print: PrintPath = () => '*'): ShapeReport {
  const members: ShapeMember[] = [];
  if (content.doubt === undefined && content.value !== undefined) describe(content.value, [], print, members);
  const type = mediaTypeOf(response.headers['content-type']) || 'none';
  const contentType = KNOWN_TYPES.has(type) ? type : 'other';
  return { status: response.status, contentType, bytes: response.body.length, members };
}

const MAX_MEMBERS = 32;
const MAX_DEPTH = 4;

/** The types that are repeated. A service can write anything into its header. */
const KNOWN_TYPES: ReadonlySet<string> = new Set([
  ...['none', 'application/json', 'text/json', 'application/problem+json', 'application/x-www-form-urlencoded'],
  ...['text/plain', 'text/html', 'application/xhtml+xml', 'text/xml', 'application/xml', 'application/soap+xml'],
  ...['multipart/form-data', 'application/jwt', 'application/octet-stream'],
]);

function describe(value: unknown, path: readonly string[], print: PrintPath, members: ShapeMember[]): void {
  members.push({ path: print(path), ...typeOf(value) });
  if (typeof value !== 'object' || value === null || path.length === MAX_DEPTH) return;
  // The entries of an array are usually alike. The first entry is enough.
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
  return isRecord(value) ? { type: 'object', length: Object.keys(value).length } : { type: 'null' };
}

/**
 * Creates the printer of dotted paths in an answer, with `$` for the answer itself. Always shows a known name, as a
 * mask would reveal that the credential contains it. Shows another name if it is a plain word, no value of the answer
 * and no part of the credential. Masks all other names as `*`. They may be secrets, such as a token used as a key.
 */
export function createPathPrinter(answer: unknown, credential: Credential): PrintPath {
  const texts = textsIn([answer], (object) => Object.values(object).map(openText)).filter(
    ({ length }) => length >= MIN_TEXT_LENGTH,
  );
  const clientId = credential.clientId.reveal();
  const plainId = plainText(clientId);
  const plainSecrets = secretsOf(credential).map(plainText);
  const repeats = (name: string) =>
    repeatsCredential(name, credential) ||
    (name.length >= MIN_TEXT_LENGTH && plainSecrets.some((secret) => secret.includes(plainText(name)))) ||
    shows(name, clientId) ||
    (plainId.length >= MIN_TEXT_LENGTH && plainText(name).includes(plainId));
  const isShown = (name: string) =>
    KNOWN_NAMES.has(plainName(name)) ||
    expiryNameOf(name) !== undefined ||
    (isPlainWord(name) && !texts.some((text) => name.includes(text)) && !repeats(name));
  return (path) => (path.length === 0 ? '$' : path.map((name) => (isShown(name) ? name : '*')).join('.'));
}

/** Shorter texts are part of many words. */
const MIN_TEXT_LENGTH = 4;

const KNOWN_NAMES: ReadonlySet<string> = new Set([
  ...['data', 'result', 'results', 'response', 'payload', 'body', 'content', 'user', 'meta', 'status', 'success'],
  ...['value', 'type', 'tokentype', 'scope', 'refreshtoken', 'error', 'errors', 'errordescription', 'errorcode'],
  ...['message', 'code', ...TOKEN_NAMES],
]);
