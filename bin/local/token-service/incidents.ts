import type { HttpAnswer } from '../loopback.ts';

/** What a token endpoint does in place of checking the credential at once; without a member it is as usual. */
export interface Behaviour {
  /** The service gives this answer to every credential. */
  readonly answer?: HttpAnswer | undefined;
  /** The answer never comes, or the connection is reset instead. */
  readonly fault?: 'hang' | 'reset';
  readonly latencyMs?: number;
}

export interface Incident extends Behaviour {
  /** The service's behaviour from now on. */
  readonly says: string;
  /** The tokens that live are turned away from now on; the token endpoint goes on as it was. */
  readonly revokes?: true;
}

/** How a service can fail in a rehearsal, by name; the last one ends it. */
export const INCIDENTS = {
  reject: { says: 'it rejects every credential', answer: { status: 401, body: '{"error":"invalid_client"}' } },
  slow: { says: 'it answers after ten seconds, which is too late', latencyMs: 10_000 },
  down: { says: 'it ends every connection without an answer', fault: 'reset' },
  throttle: { says: 'it answers 429 to every request', answer: { status: 429, headers: { 'retry-after': '5' } } },
  revoke: { says: 'its API turns away every token that it has issued so far', revokes: true },
  recover: { says: 'it works again' },
} as const satisfies Record<string, Incident>;

/** Where an order of this beginning and the name of an incident goes. */
export const INCIDENT_PATH = 'incident/';
