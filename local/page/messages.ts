import { z } from 'zod';

/** The JSON between the page and its server. The page's script only imports types. */

/** A name with a text, such as a fact or a command to copy. */
export type Entry = { readonly name: string; readonly text: string };

/** The answer to `GET /state`: possible requests, states of pairs, recent events. Times are epoch milliseconds. */
export interface State {
  readonly callers: readonly PageCaller[];
  /** `plays` is the incident of a stand-in. `trouble` says in a word why the service does not work. */
  readonly services: readonly { readonly name: string; readonly plays?: string; readonly trouble?: string }[];
  readonly clients: readonly PageClient[];
  /** The incident that the table plays. */
  readonly table: string;
  /** The commands that create a client. */
  readonly create: readonly Entry[];
  /** How many tokens needed no request to a service since the start. */
  readonly saved: string;
  /** Newest first, like the messages to the operators. */
  readonly requests: readonly SeenRequest[];
  readonly messages: readonly OperatorMessage[];
}

export interface PageCaller {
  /** The access key id, which is unique. */
  readonly id: string;
  readonly name: string;
  /** `<operation> <client>/<service>` for everything that an access rule allows. */
  readonly allowed: readonly string[];
}

interface PageClient {
  readonly name: string;
  /** A cell for each service, in the order of the services. */
  readonly cells: readonly Cell[];
  readonly commands: readonly Entry[];
}

/** The state of a pair, in the words of `client list`, but `not tried yet` or `failed` for `unproven`. */
export interface Cell {
  readonly service: string;
  /** A state, or `-` where the client does not have the service. */
  readonly word: string;
  readonly severity: 'good' | 'idle' | 'passing' | 'bad' | 'stopped';
  /** The time at which a hold or a pause ends. */
  readonly until?: number | undefined;
  /** The time of the stop, once it is in force on every instance. */
  readonly since?: number | undefined;
  /** A failure of the last call or check, how soon a stop is in force, or how long tokens outlive a secret. */
  readonly note?: string | undefined;
  /** The remaining life time of the token in use, also as a part of its whole life time if known. */
  readonly token?: { readonly lives?: string | undefined; readonly part?: number | undefined } | undefined;
}

export interface SeenRequest {
  /** The id for `GET /audit/<id>`, which returns the audit line. */
  readonly id: string;
  readonly at: number;
  readonly outcome: Outcome;
  /** Absent when the request did not reach the broker. */
  readonly caller?: string | undefined;
  /** A pair, an operation, or a method and a path. */
  readonly subject: string;
  readonly origin?: string | undefined;
  readonly milliseconds?: number | undefined;
  /** The requests of the schedule that this row summarizes, newest first. */
  readonly folded?: readonly SeenRequest[] | undefined;
}

/** A word (`issued`, a finding, the type of a problem, an answer of AWS) and its kind. */
export type Outcome = { readonly word: string; readonly kind: 'good' | 'refused' | 'bad' };

export interface OperatorMessage extends Pick<SeenRequest, 'at' | 'subject'> {
  readonly text: string;
  readonly commands: readonly Entry[];
}

const text = z.string().max(1_000);

/** The body of `POST /incident`. */
export const INCIDENT = z.strictObject({ service: text, name: text });

/** The body of `POST /call`. The page's server passes invalid values on, because the broker must reject them. */
export const CALL = z.strictObject({
  caller: text,
  operation: z.enum(['token', 'check', 'whoami']),
  client: text.optional(),
  service: text.optional(),
  min_ttl: z.number().optional(),
  refused: text.optional(),
  reveal: z.boolean().optional(),
});

export type CallForm = Readonly<z.infer<typeof CALL>>;

/** The report of a call. It contains no key and no signature, and a token only if the form asks to reveal it. */
export interface CallReport {
  readonly outcome: Outcome;
  readonly summary: string;
  readonly detail?: string | undefined;
  readonly advice?: string | undefined;
  readonly advised: readonly Entry[];
  readonly way: readonly Station[];
  readonly facts: readonly Entry[];
  /** The answer and the request as sent, and commands that repeat the call in a terminal. */
  readonly texts: readonly Entry[];
  readonly fingerprint?: string | undefined;
}

export interface Station {
  readonly name: 'caller' | 'broker' | 'memory' | 'table' | 'lease' | 'secret' | 'service';
  /** `off`: the call did not reach this station. `passed`: it did not end here. `running`: it has no answer yet. */
  readonly state: 'off' | 'passed' | 'running' | 'answered' | 'refused' | 'failed';
  readonly note?: string | undefined;
  readonly milliseconds?: number | undefined;
}
