import { decodeUtf8 } from '../json.ts';

/** The raw answer of a token endpoint. Header names are lower-case. Repeated headers are joined by `, `. */
export interface TokenResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

/** Returns the text of a body, without white space around it, or `undefined` for bytes that are no text. */
export function readText({ body }: TokenResponse): string | undefined {
  return decodeUtf8(body)?.trim();
}
