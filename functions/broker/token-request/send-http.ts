import type { ProblemType } from '../../vocabulary.ts';
import { Problem } from '../problem.ts';
import type { Redacted } from '../redacted.ts';
import type { TokenResponse } from '../token-response/content.ts';
import { shapeOf } from '../token-response/shape.ts';

/**
 * Sends one request once and returns the complete answer, with any status. Follows no redirect.
 *
 * @throws SendFailure when there is no complete and readable answer
 */
export type SendHttp = (request: HttpRequest, limits: SendLimits) => Promise<TokenResponse>;

export interface HttpRequest {
  readonly method: 'POST';
  readonly url: URL;
  readonly headers: Readonly<Record<string, string | Redacted>>;
  readonly body: string;
  /** Certificates in PEM that are trusted for this host, in place of the public authorities. */
  readonly certificateAuthorities?: readonly string[] | undefined;
  /** Offers no post-quantum key exchange, whose message is too large for some firewalls and servers. */
  readonly isClassical?: boolean;
}

export interface SendLimits {
  /** The limit for name look-up, connection, request, headers and body together. */
  readonly timeoutMs: number;
  /** The limit for TLS, from the TCP connection on. */
  readonly handshakeMs?: number;
  readonly maxBodyBytes: number;
  /** Its abort ends the request as a timeout. */
  readonly signal?: AbortSignal | undefined;
}

/** The reason why there is no answer. Contains nothing that was sent, and prints nothing that was received. */
export class SendFailure extends Error {
  override readonly name = 'SendFailure';
  readonly kind: SendFailureKind;
  readonly code: string;
  readonly #head: TokenResponse | undefined;

  constructor(kind: SendFailureKind, code: string, head?: AnswerHead) {
    super(`${kind} (${code})`);
    this.kind = kind;
    this.code = code;
    this.#head = head && { ...head, body: new Uint8Array() };
  }

  /** The answer without its unreadable body. Private, because headers may contain a token. */
  get head(): TokenResponse | undefined {
    return this.#head;
  }
}

export type AnswerHead = Pick<TokenResponse, 'status' | 'headers'>;

export type SendFailureKind = keyof typeof KINDS;

/** The problem of each kind of failure, and its text after the host. */
const KINDS = {
  /** There was no connection. Nothing was sent. */
  connect: [
    'token-endpoint-unavailable',
    'cannot be connected to: it is down, authUrl or the name servers are wrong, or a route or a firewall is in the way',
  ],
  /** The TCP connection stood, TLS did not. Nothing was sent. */
  handshake: [
    'token-endpoint-unavailable',
    'accepts TCP connections, but TLS does not stand: a firewall or the server drops or resets it',
  ],
  /** Nothing was sent. */
  tls: [
    'token-endpoint-error',
    'has a TLS certificate or protocol that the broker does not trust: its operator must correct it, or certificateAuthorities name its authority',
  ],
  /** TLS stood for the broker, and then the server refused it. It has read nothing. */
  'client-certificate': ['token-endpoint-error', 'wants a client certificate (mTLS), which the broker does not send'],
  timeout: ['token-endpoint-timeout', 'took the token request and did not answer completely in time'],
  /** The connection broke after the request had been sent, or in the middle of the answer. */
  broken: ['token-endpoint-unavailable', 'closed the connection before its answer was complete'],
  malformed: [
    'token-endpoint-error',
    'answered with something that is not HTTP; check the host and the port of authUrl',
  ],
  'too-large': ['token-response-unusable', 'sent an answer that is larger than the broker reads'],
} as const satisfies Record<string, readonly [ProblemType, string]>;

/** The faults of HTTP that Node names by a code. Any other code is no HTTP at all. */
const REFUSED_HTTP: readonly (readonly [RegExp, string])[] = [
  [/HEADER_TOKEN/, 'a character in a header'],
  [/CONTENT_LENGTH|TRANSFER_ENCODING/, 'length and chunked, or a wrong length'],
  [/CHUNK/, 'a chunk'],
  [/_EXPECTED/, 'the end of a line'],
  [/STATUS|SPACE|VERSION/, 'the first line'],
];

/** The fault of an answer whose head was read, unless its code names another. */
const AFTER_HEAD = [/^/, 'more bytes than its length'] as const;

/** Returns the problem that a caller sees. The failure does not become its cause. */
export function problemOf({ kind, code, head }: SendFailure, host: string): Problem {
  const [type, words] = KINDS[kind];
  const refused = kind === 'malformed' && (REFUSED_HTTP.find(([name]) => name.test(code)) ?? (head && AFTER_HEAD));
  const [, fault] = refused || [];
  const what = fault === undefined ? words : `answered with HTTP that Node refuses: ${fault}`;
  const status = head === undefined ? '' : `, status ${head.status}`;
  const shape = type === 'token-response-unusable' && head !== undefined ? shapeOf(head) : undefined;
  return new Problem(type, `${host} ${what} (${code}${status}).`, { shape });
}
