import type { Redacted } from '../redacted.ts';
import type { TokenResponse } from '../token-response/types.ts';

/**
 * Sends one request once and gives the complete answer, whatever its status; follows no redirect.
 *
 * @throws SendFailure when there is no complete answer that may be read
 */
export type Send = (request: HttpRequest, limits: SendLimits) => Promise<TokenResponse>;

export interface HttpRequest {
  readonly method: 'POST';
  readonly url: URL;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string | Redacted>>;
  readonly body: string;
}

export interface SendLimits {
  /** For all of it: name look-up, connection, request, headers and body. */
  readonly timeoutMs: number;
  readonly maxBodyBytes: number;
}

/** Why there is no answer. It carries nothing that was sent and shows nothing that was received. */
export class SendFailure extends Error {
  override readonly name = 'SendFailure';
  readonly kind: SendFailureKind;
  /** An error code such as `ECONNREFUSED` or `CERT_HAS_EXPIRED`. */
  readonly code: string;
  readonly #head: AnswerHead | undefined;

  constructor(kind: SendFailureKind, code: string, head?: AnswerHead) {
    super(`${kind} (${code})`);
    this.kind = kind;
    this.code = code;
    this.#head = head;
  }

  /** What had arrived of an answer whose body could not be read; private, because headers may hold a token. */
  get head(): AnswerHead | undefined {
    return this.#head;
  }
}

export type AnswerHead = Pick<TokenResponse, 'status' | 'headers'>;

export type SendFailureKind =
  /** No connection was made, so nothing was sent. */
  | 'connect'
  /** The other side is not trusted or speaks no TLS that is; nothing was sent. */
  | 'tls'
  /** A connection kept from an earlier request turned out dead: it ended before any byte came back. */
  | 'stale-socket'
  /** The request was sent; no complete answer came in time. */
  | 'timeout'
  /** The connection broke after the request had been sent, or in the middle of the answer. */
  | 'broken'
  /** What came back is not HTTP. */
  | 'malformed'
  /** The headers or the body exceed the limit. */
  | 'too-large'
  /** The body is compressed although that was declined. */
  | 'encoded';
