import type { ShapeMember, ShapeReport } from '../problem.ts';
import type { DecodedBody } from './body.ts';
import { mediaTypeOf } from './media-type.ts';
import type { MemberPath } from './members.ts';
import { createPathPrinter } from './path-printer.ts';
import type { TokenResponse } from './read.ts';
import type { PrintPath } from './unusable-answer.ts';

/** Tells the form of an answer, so that an operator can see what the service sends without anybody seeing a value. */
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
