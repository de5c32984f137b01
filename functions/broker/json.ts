export type Members = Readonly<Record<string, unknown>>;

/** Returns whether a value is a JSON object. An array is not an object. */
export function isRecord(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Returns the members of a JSON object, and no members for any other value. */
export function membersOf(value: unknown): Members {
  return isRecord(value) ? value : {};
}

export function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

/** Returns the media type of a `content-type` header in lower case, without parameters, or `""` (RFC 9110 §8.3.1). */
export function mediaTypeOf(contentType = ''): string {
  return contentType.toLowerCase().replace(/;.*$/s, '').trim();
}

/** Decodes a text without its byte order mark. Returns `undefined` for invalid bytes and for an unknown charset. */
export function decodeText(bytes: Uint8Array, charset = 'utf-8'): string | undefined {
  try {
    return new TextDecoder(charset, { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/**
 * Parses JSON, with or without a byte order mark (RFC 8259 §8.1). Returns `undefined` for invalid text, because the
 * parser's own error would quote it.
 */
export function parseJson(text: string, reviver?: Reviver): unknown {
  try {
    return JSON.parse(text.startsWith('\uFEFF') ? text.slice(1) : text, reviver);
  } catch {
    return undefined;
  }
}

/** Parses a JSON object. Returns `undefined` for any other text. */
export function parseJsonObject(text: string, reviver?: Reviver): Members | undefined {
  const value = parseJson(text, reviver);
  return isRecord(value) ? value : undefined;
}

type Reviver = (name: string, value: unknown) => unknown;

/** Returns the first duplicate name in an object of valid JSON. `JSON.parse` silently takes the last value. */
export function duplicateMember(text: string): string | undefined {
  const objects: (Set<string> | undefined)[] = [];
  let last = '""';
  for (const [token] of text.matchAll(/"(?:[^"\\]|\\.)*"|[{}[\]:]/g)) {
    if (token === '{') objects.push(new Set());
    else if (token === '[') objects.push(undefined);
    else if (token === '}' || token === ']') objects.pop();
    else if (token !== ':') last = token;
    else {
      const name: string = JSON.parse(last);
      if (objects.at(-1)?.has(name)) return name;
      objects.at(-1)?.add(name);
    }
  }
  return undefined;
}
