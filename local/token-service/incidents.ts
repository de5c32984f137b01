import type { HttpAnswer } from '../loopback.ts';

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

/** The path below a service that an incident's name completes. */
export const INCIDENT_PATH = 'incident/';
