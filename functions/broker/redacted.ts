import { parseJson } from './json.ts';

/** A secret text. Only `reveal` returns it. Every way to print it shows `[redacted]`. */
export class Redacted {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  reveal(): string {
    return this.#text;
  }

  toString(): string {
    return REDACTED;
  }

  toJSON(): string {
    return REDACTED;
  }

  /** The method for Node's `console.log`. The registered symbol needs no import from Node. */
  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return REDACTED;
  }
}

const REDACTED = '[redacted]';

/**
 * Returns whether a value, or any name or value in it, contains the secret or one of the `parts`. Finds plain text
 * and text in JSON escapes, URL encoding, hexadecimal, base64 or base64url, also nested as in a JWT's claims. A
 * short secret must be the whole text, because other words may contain it by chance.
 */
export function shows(value: unknown, secret: string, parts: readonly string[] = []): boolean {
  const contained = secret.length >= MIN_CONTAINED ? [secret, ...parts] : parts;
  const seen = new Set<string>();
  let forms = textsIn(value, entriesWithNames);
  for (let depth = 0; depth <= MAX_ENCODINGS; depth += 1) {
    forms = forms.filter((form) => !seen.has(form) && seen.add(form));
    if (forms.some((form) => form === secret || contained.some((part) => form.includes(part)))) return true;
    if (depth < MAX_ENCODINGS) forms = forms.flatMap(decodingsOf);
  }
  return false;
}

const entriesWithNames = (object: object) => Object.entries(object).flat();
const MIN_CONTAINED = 8;
const MAX_ENCODINGS = 3;

/** Returns all texts and numbers in a value, without the names of members. Works at any depth, without recursion. */
export function textsIn(value: unknown, entriesOf: (object: object) => unknown[] = Object.values): readonly string[] {
  const values: unknown[] = [value];
  // The loop extends the list that it walks.
  for (const part of values) {
    if (typeof part === 'object' && part !== null) for (const entry of entriesOf(part)) values.push(entry);
  }
  return values.filter((part) => typeof part === 'string' || typeof part === 'number').map(String);
}

/** Returns all possible decodings. Reads base64 from four offsets, because the text before it may look like base64. */
function decodingsOf(text: string): readonly string[] {
  const percent = (encoded: string) => encoded.replace(/(?:%[\da-f]{2})+/gi, (run) => fromHex(run.replaceAll('%', '')));
  return [
    text.replace(/\\(?:u[\da-fA-F]{4}|["\\/bfnrt])/g, (escaped) => JSON.parse(`"${escaped}"`)),
    percent(text),
    percent(text.replaceAll('+', ' ')),
    ...(text.match(/[\da-f]{4,}/gi) ?? []).flatMap((run) => [0, 1].map((at) => fromHex(run.slice(at)))),
    ...(text.replace(/\r?\n/g, '').match(/[\w+/-]{4,}/g) ?? []).flatMap((run) =>
      [0, 1, 2, 3].map((at) => fromBase64(run.slice(at))),
    ),
    ...(/^\s*[{["]/.test(text) ? textsIn(parseJson(text), entriesWithNames) : []),
  ];
}

function fromHex(digits: string): string {
  return decodeBytes((digits.match(/../g) ?? []).map((pair) => Number.parseInt(pair, 16)));
}

function fromBase64(run: string): string {
  const text = run.replaceAll('-', '+').replaceAll('_', '/');
  const whole = text.length % 4 === 1 ? text.slice(0, -1) : text;
  return decodeBytes(Array.from(atob(whole), (byte) => byte.charCodeAt(0)));
}

const UTF_8 = new TextDecoder();
const decodeBytes = (bytes: readonly number[]) => UTF_8.decode(Uint8Array.from(bytes));
