import type { Redacted } from '../redacted.ts';

/** What a token endpoint answered, complete and unread. Header names are lower-case, repeated ones joined by `, `. */
export interface TokenResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

/** When the token request was sent and when its answer was complete, in epoch milliseconds. */
export interface RequestTimes {
  readonly requestStartedAt: number;
  readonly receivedAt: number;
}

/** A token as its service gave it. */
export interface ServiceToken {
  readonly accessToken: Redacted;
  readonly tokenType: string;
  /** Epoch milliseconds, counted from the start of the token request. */
  readonly expiresAt: number;
  readonly expirySource: ExpirySource;
  readonly scope?: string | undefined;
  /** The members that `passThrough` names, as the service gave them. */
  readonly passThrough: Readonly<Record<string, unknown>>;
}

/** What says how long the token lives: the answer, the token itself (JWT `exp`), the settings, or an assumption. */
export type ExpirySource = 'response' | 'jwt' | 'configured' | 'assumed';
