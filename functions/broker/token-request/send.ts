import type { ProblemType } from '../../contract.ts';
import { Problem } from '../problem.ts';
import type { Redacted } from '../redacted.ts';
import type { TokenResponse } from '../token-response/body.ts';
import { shapeOf } from '../token-response/shape.ts';

/**
 * Sends one request once and gives the complete answer, with any status; follows no redirect.
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
  readonly #head: TokenResponse | undefined;

  constructor(kind: SendFailureKind, code: string, head?: AnswerHead) {
    super(`${kind} (${code})`);
    this.kind = kind;
    this.code = code;
    this.#head = head && { ...head, body: new Uint8Array() };
  }

  /** The answer whose body could not be read, without it; private, because headers may hold a token. */
  get head(): TokenResponse | undefined {
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

/** What a caller is told. The failure goes no further: it does not become a cause. */
export function problemOf(failure: SendFailure, host: string): Problem {
  const { code, head } = failure;
  const [type, because] = explain(failure, host);
  const status = head === undefined ? '' : `, status ${head.status}`;
  const shape = type === 'token-response-unusable' && head !== undefined ? shapeOf(head) : undefined;
  return new Problem(type, `${because} (${code}${status}).`, { shape });
}

function explain({ kind, code }: SendFailure, host: string): readonly [ProblemType, string] {
  switch (kind) {
    case 'connect':
      return NAME_LOOK_UP_CODES.includes(code)
        ? [UNAVAILABLE, `The name ${host} cannot be resolved; check authUrl and the name servers`]
        : [UNAVAILABLE, `No connection to ${host}; the service is down, or a route or a firewall is in the way`];
    case 'tls':
      return [
        UNAVAILABLE,
        `No trusted TLS connection to ${host}; its operator must mend the certificate or the protocol`,
      ];
    case 'stale-socket':
      return [UNAVAILABLE, `${host} keeps closing its connections`];
    case 'broken':
      return [UNAVAILABLE, `${host} closed the connection before its answer was complete`];
    case 'timeout':
      return ['token-endpoint-timeout', `${host} took the token request and did not answer completely in time`];
    case 'malformed':
      return ['token-endpoint-error', `What ${host} answered is not HTTP; check the host and the port of authUrl`];
    case 'too-large':
      return ['token-response-unusable', `The answer of ${host} is larger than the broker reads`];
    case 'encoded':
      return [
        'token-response-unusable',
        `The answer of ${host} has a content encoding, which the token request declined`,
      ];
  }
}

const UNAVAILABLE = 'token-endpoint-unavailable';
const NAME_LOOK_UP_CODES = ['ENOTFOUND', 'EAI_AGAIN', 'EAI_NODATA', 'EAI_FAIL'];
