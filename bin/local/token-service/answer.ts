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

export interface Incident {
  /** What the service does from now on. */
  readonly says: string;
  readonly answer?: TokenServiceAnswer;
  readonly fault?: TokenServiceFault;
  readonly latencyMs?: number;
}

/** How a service can fail in a rehearsal, by name; the last one ends it. */
export const INCIDENTS = {
  reject: { says: 'it rejects every credential', answer: { status: 401, body: '{"error":"invalid_client"}' } },
  slow: { says: 'it answers after ten seconds, which is too late', latencyMs: 10_000 },
  down: { says: 'it ends every connection without an answer', fault: 'reset' },
  throttle: { says: 'it answers 429 to every request', answer: { status: 429, headers: { 'retry-after': '5' } } },
  recover: { says: 'it works again' },
} as const satisfies Record<string, Incident>;

/** Where an order of this beginning and the name of an incident goes. */
export const INCIDENT_PATH = 'incident/';

export function incidentOf(path: string): Incident | undefined {
  const incidents: Readonly<Record<string, Incident>> = INCIDENTS;
  const name = path.startsWith(INCIDENT_PATH) ? path.slice(INCIDENT_PATH.length) : '';
  return Object.hasOwn(incidents, name) ? incidents[name] : undefined;
}
