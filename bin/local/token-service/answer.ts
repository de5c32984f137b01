import type { ServerResponse } from 'node:http';

/** What the token service answers. */
export interface TokenServiceAnswer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly body?: string | Uint8Array | undefined;
}

export function json(status: number, body: object, headers: TokenServiceAnswer['headers'] = {}): TokenServiceAnswer {
  return { status, headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify(body) };
}

export function problem(status: number, error: string, headers?: TokenServiceAnswer['headers']): TokenServiceAnswer {
  return json(status, { error }, headers);
}

export type TokenServiceFault = keyof typeof FAULTS;

/** Gives an answer in full, or as the fault has it. */
export function give(response: ServerResponse, answer: TokenServiceAnswer, fault?: TokenServiceFault): void {
  const bytes = Buffer.from(answer.body ?? '');
  if (fault !== undefined) FAULTS[fault](response);
  else response.writeHead(answer.status, { ...answer.headers, 'content-length': bytes.length }).end(bytes);
}

/** How an answer can go wrong, by name. */
const FAULTS = {
  /** Never answers. */
  hang: () => undefined,
  /** Resets the connection instead of answering. */
  reset: (response) => response.socket?.resetAndDestroy(),
} as const satisfies Record<string, (response: ServerResponse) => unknown>;
