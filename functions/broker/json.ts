export type Members = Readonly<Record<string, unknown>>;

/** Whether a value is a JSON object; an array is none. */
export function isRecord(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The members of a JSON object; none for any other value. */
export function membersOf(value: unknown): Members {
  return isRecord(value) ? value : {};
}

export function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

/** The media type of a `content-type` header, in lower case and without parameters; empty when it names none (RFC 9110 §8.3.1). */
export function mediaTypeOf(contentType = ''): string {
  return contentType.toLowerCase().replace(/;.*$/s, '').trim();
}

/** The text that bytes are in UTF-8, without a byte order mark; `undefined` when they are none. */
export function decodeUtf8(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** Parses JSON; `undefined` when it is invalid, because the parser's own error would quote the text. */
export function parseJson(text: string, reviver?: Reviver): unknown {
  try {
    return JSON.parse(text, reviver);
  } catch {
    return undefined;
  }
}

/** Parses a JSON object; `undefined` for any other text. */
export function parseJsonObject(text: string, reviver?: Reviver): Members | undefined {
  const value = parseJson(text, reviver);
  return isRecord(value) ? value : undefined;
}

type Reviver = (name: string, value: unknown) => unknown;

/** The first duplicate name in an object of a valid JSON text; `JSON.parse` silently takes the last value. */
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
