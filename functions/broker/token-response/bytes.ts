import { decodeText } from '../json.ts';

/** The raw answer of a token endpoint. Header names are lower-case. Repeated headers are joined by `, `. */
export interface TokenResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

/**
 * Returns the text of a body without white space around it: in the declared charset, else UTF-8, else Latin-1. Only
 * members beside the token need a charset, because a token is ASCII. Every content begins with ASCII, too.
 */
export function readText({ headers, body }: TokenResponse): string {
  const [, declared] = /;\s*charset\s*=\s*["']?([\w.:-]+)/i.exec(headers['content-type'] ?? '') ?? [];
  const texts = [declared ?? 'utf-8', 'utf-8', 'latin1'].map((charset) => decodeText(body, charset)?.trim());
  return texts.find((text) => text !== undefined && !/^[^!-~]/.test(text)) ?? texts.at(-1) ?? '';
}
