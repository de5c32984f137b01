import { isRecord } from '../functions/broker/json.ts';

/** The value of a JSON text, or `undefined` when it is none; a parser's message would quote the text. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The object of a JSON text, or `undefined` when it is none. */
export function parseJsonObject(text: string): Readonly<Record<string, unknown>> | undefined {
  const value = parseJson(text);
  return isRecord(value) ? value : undefined;
}
