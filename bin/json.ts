/** The value of a JSON text, or `undefined` when it is none; a parser's message would quote the text. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Whether a value is an object with members, and not a list. */
export function isJsonObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The object of a JSON text, or `undefined` when it is none. */
export function parseJsonObject(text: string): Readonly<Record<string, unknown>> | undefined {
  const value = parseJson(text);
  return isJsonObject(value) ? value : undefined;
}
