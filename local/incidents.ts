import type { HttpAnswer } from './loopback.ts';

/** The behaviour of a token endpoint. Without any member, the endpoint checks the credential at once. */
export interface Behaviour {
  /** The answer to every credential. */
  readonly answer?: HttpAnswer | undefined;
  /** `hang` never answers. `reset` resets the connection. */
  readonly fault?: 'hang' | 'reset';
  readonly latencyMs?: number;
}

export interface Incident extends Behaviour {
  /** A description of the service's behaviour during the incident. */
  readonly says: string;
  /** Revokes the tokens issued so far. The token endpoint does not change. */
  readonly revokes?: true;
}

/** The incidents that a service can play in a rehearsal, by name. `recover` ends an incident. */
export const INCIDENTS = {
  reject: { says: 'it rejects every credential', answer: { status: 401, body: '{"error":"invalid_client"}' } },
  slow: { says: 'it answers after ten seconds, which is too late', latencyMs: 10_000 },
  down: { says: 'it closes every connection without an answer', fault: 'reset' },
  throttle: { says: 'it answers 429 to every request', answer: { status: 429, headers: { 'retry-after': '5' } } },
  revoke: { says: 'its API refuses every token that it has issued so far', revokes: true },
  recover: { says: 'it works again' },
} as const satisfies Record<string, Incident>;

export interface TableIncident {
  /** A description of the table's behaviour during the incident. */
  readonly says: string;
  /** The error of AWS that answers every call. Without an error, no call is answered. */
  readonly error?: string;
  readonly works?: true;
}

/** The incidents that the broker's table can play, in the same way. */
export const TABLE_INCIDENTS: Readonly<Record<string, TableIncident>> = {
  'table-down': { says: 'it answers no call' },
  'table-busy': { says: 'it throttles every call', error: 'ThrottlingException' },
  'table-denied': { says: 'it refuses every call, as without a right', error: 'AccessDeniedException' },
  recover: { says: 'it works again', works: true },
};
