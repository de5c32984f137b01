import type { ProblemType } from '../../contract.ts';
import { Problem, type ShapeReport } from '../problem.ts';
import { shapeOf } from '../token-response/shape.ts';
import type { AnswerHead, SendFailure, SendFailureKind } from './send.ts';

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
