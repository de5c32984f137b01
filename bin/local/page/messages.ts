/** What the page and the server behind it tell each other in JSON: types alone, so that the page's script has them too. */

/** `GET /state`: what is running, what can be asked, and what was asked last. */
export interface State {
  readonly running: readonly Part[];
  readonly callers: readonly PageCaller[];
  readonly clients: readonly PageClient[];
  readonly services: readonly Part[];
  /** Newest first. */
  readonly requests: readonly SeenRequest[];
}

export interface Part {
  readonly name: string;
  readonly url: string;
}

export interface PageClient {
  readonly name: string;
  /** What an operator has done with it, if it is not asked for as usual. */
  readonly state?: 'stopped' | 'deleted' | undefined;
}

interface PageCaller {
  /** Its access key id: no two callers have the same. */
  readonly id: string;
  readonly name: string;
  readonly role: string;
  /** `<operation> <client>/<service>` for everything that an access rule allows. */
  readonly allowed: readonly string[];
}

export interface SeenRequest {
  /** Epoch milliseconds. */
  readonly at: number;
  readonly outcome: Outcome;
  /** The name of a role; absent when the broker did not hear of it. */
  readonly caller?: string | undefined;
  /** A pair, or what was asked for instead. */
  readonly subject: string;
  /** Where the token came from. */
  readonly origin?: string | undefined;
  readonly milliseconds?: number | undefined;
}

export interface Outcome {
  /** `issued`, a finding, the type of a problem, or what AWS answered. */
  readonly word: string;
  readonly kind: 'good' | 'refused' | 'bad';
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
  /** What follows the outcome in a sentence. */
  readonly summary: string;
  /** What to do about a failure. */
  readonly advice?: string | undefined;
  /** As they went over the wire, with the body's members on lines of their own. */
  readonly request: string;
  readonly answer: string;
  readonly curl: string;
  /** Of the token that was issued. */
  readonly fingerprint?: string | undefined;
}

/** Any answer that is no 200. */
export interface Refusal {
  readonly message: string;
}
