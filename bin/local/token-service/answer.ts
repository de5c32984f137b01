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
  const begin = () => response.writeHead(answer.status, { ...answer.headers, 'content-length': bytes.length });
  if (fault === undefined) begin().end(bytes);
  else FAULTS[fault](response, begin, bytes);
}

/** How an answer can go wrong, by name. */
export const FAULTS = {
  /** Never answers. */
  hang: () => undefined,
  /** One byte every 20 ms. */
  drip(response, begin, bytes) {
    begin();
    let sent = 0;
    const timer = setInterval(() => {
      if (sent === bytes.length) response.end();
      else response.write(bytes.subarray(sent, ++sent));
    }, 20);
    response.on('close', () => clearInterval(timer));
  },
  /** Resets the connection instead of answering. */
  reset: (response) => response.socket?.resetAndDestroy(),
  /** Resets the connection between headers and body. */
  'reset-after-headers'(response, begin) {
    begin().flushHeaders();
    response.socket?.resetAndDestroy();
  },
  /** Ends the connection in the middle of the body. */
  'close-mid-body'(response, begin, bytes) {
    begin().write(bytes.subarray(0, bytes.length / 2), () => response.socket?.end());
  },
  /** Ends its own half of the connection instead of answering. */
  'half-close': (response) => response.socket?.end(),
} as const satisfies Record<string, (response: ServerResponse, begin: () => ServerResponse, bytes: Buffer) => void>;
