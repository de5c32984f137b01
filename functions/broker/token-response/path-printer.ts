import { isPlainWord } from '../redacted.ts';
import { expiryNameOf } from './expiry-name.ts';
import { plainName } from './members.ts';
import { isTokenName } from './token-name.ts';
import type { PrintPath } from './unusable-answer.ts';

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
