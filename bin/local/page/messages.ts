/** What the page and the server behind it tell each other in JSON: types alone, so that the page's script has them too. */

/** A name and the text that belongs to it: an address, a fact, a command to copy. */
export type Entry = { readonly name: string; readonly text: string };

/** `GET /state`: what can be asked, how the pairs are, and what happened. Times are epoch milliseconds. */
export interface State {
  readonly callers: readonly PageCaller[];
  readonly services: readonly string[];
  readonly clients: readonly PageClient[];
  /** The services of the stand-in, the incident that each plays, and the names of all that it can play. */
  readonly stages: readonly Stage[];
  /** What the broker answered since its start, and with how many token requests. */
  readonly saved: readonly Entry[];
  /** Newest first. */
  readonly requests: readonly SeenRequest[];
  /** To the operators, newest first. */
  readonly messages: readonly OperatorMessage[];
  /** The addresses of everything that was started, and of the token endpoints. */
  readonly running: readonly Entry[];
}

export interface PageCaller {
  /** Its access key id: no two callers have the same. */
  readonly id: string;
  readonly name: string;
  /** `<operation> <client>/<service>` for everything that an access rule allows. */
  readonly allowed: readonly string[];
}

interface PageClient {
  readonly name: string;
  /** One for each service, in the order of the services. */
  readonly cells: readonly Cell[];
  readonly commands: readonly Entry[];
}

/** A pair as `client list` and `health` tell it. */
export interface Cell {
  readonly service: string;
  /** A state, a finding, or `-` where the client does not have the service. */
  readonly word: string;
  readonly severity: 'good' | 'idle' | 'passing' | 'bad';
  /** When a hold or a pause ends by itself. */
  readonly until?: number | undefined;
  /** What the last check found, where the word does not say it. */
  readonly finding?: string | undefined;
  /** How long the token in use still lives, and which part of its life that is, where it is known. */
  readonly token?: { readonly lives: string; readonly part?: number | undefined } | undefined;
}

export interface Stage {
  readonly service: string;
  readonly plays: { readonly name: string; readonly command: Entry };
  readonly incidents: readonly string[];
}

export interface SeenRequest {
  /** By which `GET /audit/<id>` gives the audit line. */
  readonly id: string;
  readonly at: number;
  readonly outcome: Outcome;
  /** Absent when the broker did not hear of it. */
  readonly caller?: string | undefined;
  /** A pair, or what was asked for instead. */
  readonly subject: string;
  /** Where the token came from. */
  readonly origin?: string | undefined;
  readonly milliseconds?: number | undefined;
  /** The requests that this row stands for, newest first: those of the schedule. */
  readonly folded?: readonly SeenRequest[] | undefined;
}

/** `issued`, a finding, the type of a problem, or what AWS answered, and how it is to be seen. */
export type Outcome = { readonly word: string; readonly kind: 'good' | 'refused' | 'bad' };

export interface OperatorMessage {
  readonly at: number;
  readonly subject: string;
  readonly text: string;
  readonly commands: readonly Entry[];
}

/** `POST /call`: what to ask the broker, and as whom. The broker judges the members, wrong ones too; `whoami` has none. */
export interface CallForm {
  readonly caller: string;
  readonly operation: 'token' | 'check' | 'whoami';
  readonly client?: string | undefined;
  readonly service?: string | undefined;
  readonly min_ttl?: number | undefined;
  readonly refused?: string | undefined;
  /** Shows the token of the answer, too. */
  readonly reveal?: boolean | undefined;
}

/** What became of a call; nothing in it is a key or a signature, nor a token unless the form says so. */
export interface CallReport {
  readonly outcome: Outcome;
  readonly summary: string;
  /** What the problem says, what to do about it, and the commands for that. */
  readonly detail?: string | undefined;
  readonly advice?: string | undefined;
  readonly advised: readonly Entry[];
  readonly way: readonly Station[];
  readonly facts: readonly Entry[];
  /** Answer and request as they went over the wire, and what asks the same again from a terminal. */
  readonly texts: readonly Entry[];
  readonly fingerprint?: string | undefined;
}

/** One station of the way that a call took. */
export interface Station {
  readonly name: 'caller' | 'broker' | 'memory' | 'table' | 'lease' | 'secret' | 'service';
  /** Whether the call came here, and ended here. */
  readonly state: 'off' | 'passed' | 'answered' | 'refused' | 'failed';
  readonly note?: string | undefined;
  readonly milliseconds?: number | undefined;
}
