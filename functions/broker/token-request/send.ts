import type { ProblemType } from '../../contract.ts';
import { Problem, type ShapeReport } from '../problem.ts';
import type { Redacted } from '../redacted.ts';
import { shapeOf } from '../token-response/shape.ts';
import type { TokenResponse } from '../token-response/types.ts';

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

/** Whether the same request may be sent again: only when nothing of an answer can have been produced. */
export function isRepeatable({ kind }: SendFailure): boolean {
  return kind === 'connect' || kind === 'stale-socket';
}

/** What a caller is told. The failure goes no further: it does not become a cause. */
export function problemOf({ kind, code, head }: SendFailure, host: string): Problem {
  const { type, because } = EXPLANATIONS[kind];
  const status = head === undefined ? '' : `, status ${head.status}`;
  return new Problem(type, `${because(host, code)} (${code}${status}).`, {
    shape: type === 'token-response-unusable' ? shapeOfHead(head) : undefined,
  });
}

/** There is no time left to ask a token endpoint. */
export function outOfTime(host: string): Problem {
  return new Problem('token-endpoint-timeout', `No time was left for a token request to ${host}.`);
}

/** Nothing was kept of a body that may not be read; an answer whose headers are too large has not even a status. */
function shapeOfHead(head: AnswerHead | undefined): ShapeReport | undefined {
  return head && shapeOf({ ...head, body: new Uint8Array() }, { format: 'unreadable', reason: 'It was not read.' });
}

interface Explanation {
  readonly type: ProblemType;
  readonly because: (host: string, code: string) => string;
}

const EXPLANATIONS: Readonly<Record<SendFailureKind, Explanation>> = {
  connect: {
    type: 'token-endpoint-unavailable',
    because: (host, code) =>
      NAME_LOOK_UP_CODES.includes(code)
        ? `The name ${host} cannot be resolved; check authUrl and the name servers`
        : `No connection to ${host}; the service is down, or a route or a firewall is in the way`,
  },
  tls: {
    type: 'token-endpoint-unavailable',
    because: (host) => `No trusted TLS connection to ${host}; its operator must mend the certificate or the protocol`,
  },
  'stale-socket': { type: 'token-endpoint-unavailable', because: (host) => `${host} keeps closing its connections` },
  broken: {
    type: 'token-endpoint-unavailable',
    because: (host) => `${host} closed the connection before its answer was complete`,
  },
  timeout: {
    type: 'token-endpoint-timeout',
    because: (host) => `${host} took the token request and did not answer completely in time`,
  },
  malformed: {
    type: 'token-endpoint-error',
    because: (host) => `What ${host} answered is not HTTP; check the host and the port of authUrl`,
  },
  'too-large': {
    type: 'token-response-unusable',
    because: (host) => `The answer of ${host} is larger than the broker reads`,
  },
  encoded: {
    type: 'token-response-unusable',
    because: (host) => `The answer of ${host} has a content encoding, which the token request declined`,
  },
};

const NAME_LOOK_UP_CODES = ['ENOTFOUND', 'EAI_AGAIN', 'EAI_NODATA', 'EAI_FAIL'];
