import { isPlainWord } from '../plain-word.ts';
import { Problem } from '../problem.ts';

/** 16 KiB: far more than a request needs, far less than a parser could be hurt with. */
const MAX_BODY_BYTES = 16 * 1024;

/** Reads a body of the two media types into its members, still unchecked; throws the problem that says what is wrong. */
export function parseBody(contentType: string | undefined, sent: string | Uint8Array): unknown {
  const body = typeof sent === 'string' ? new TextEncoder().encode(sent) : sent;
  const type = mediaType(contentType);
  if (type !== JSON_TYPE && type !== FORM_TYPE) {
    throw new Problem(
      'unsupported-media-type',
      'Send application/json or application/x-www-form-urlencoded, in UTF-8, and name it in the content-type header.',
    );
  }
  if (body.byteLength > MAX_BODY_BYTES) {
    throw new Problem(
      'content-too-large',
      `The body has ${body.byteLength} bytes; at most ${MAX_BODY_BYTES} are read.`,
    );
  }
  return type === JSON_TYPE ? parseJson(decode(body)) : parseForm(decode(body));
}

const JSON_TYPE = 'application/json';
const FORM_TYPE = 'application/x-www-form-urlencoded';

/** The media type in lower case, or `''` when it names a charset other than UTF-8. */
function mediaType(contentType = ''): string {
  const [type = '', ...parameters] = contentType.toLowerCase().split(';');
  const foreign = parameters.some((parameter) => /^\s*charset\s*=(?!\s*"?(utf-8|us-ascii)"?\s*$)/.test(parameter));
  return foreign ? '' : type.trim();
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
    members.set(name, NUMERIC_MEMBERS.has(name) && /^\d{1,9}$/.test(value) ? Number(value) : value);
  }
  return Object.fromEntries(members);
}

/**
 * How the name of a member that a caller chose goes back to it: one that is no word may be a token that was sent as a
 * whole form, and callers write our problems into their logs.
 */
export function shownName(name: string): string {
  return isPlainWord(name) ? `"${name}"` : 'whose name is not shown';
}

const NUMERIC_MEMBERS: ReadonlySet<string> = new Set(['min_ttl']);
