import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse, request as send } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import { AwsError } from '../../../local/aws/aws-error.ts';
import { listen, stop } from '../../../local/loopback.ts';

/** Ways in which a service can fail a call, by name. */
export type Fault = keyof typeof FAULTS;

/** The faults of a call of AWS on its way; `lost-answer` and a delay let it reach its target. */
type CallFault = Fault | 'lost-answer' | { readonly delayMs: number } | ((inPlaceOfTarget: ServerResponse) => void);

export type FaultOf = (call: AwsCall) => CallFault | undefined;

export interface AwsCall {
  readonly operation: string;
  readonly parameters: { readonly ConsistentRead?: boolean; readonly Item?: Record<string, AttributeValue> };
}

/** Stands between an AWS client and the server at this URL, on 127.0.0.1, and adds the faults of a network. */
export async function startFaultyEndpoint(server: string) {
  const calls: AwsCall[] = [];
  const operations: string[] = [];
  let faultOf: FaultOf = () => undefined;

  const front = createServer(async (request, response) => {
    const body = await buffer(request);
    const target = request.headers['x-amz-target'];
    // SNS and STS take forms.
    const form = target === undefined ? Object.fromEntries(new URLSearchParams(`${body}`)) : undefined;
    const operation = form?.Action ?? `${target}`.split('.')[1] ?? '';
    const call = { operation, parameters: form ?? JSON.parse(`${body}`) };
    calls.push(call);
    operations.push(operation);
    const fault = faultOf(call);
    if (typeof fault === 'function') return fault(response);
    if (typeof fault === 'object') await sleep(fault.delayMs);
    else if (fault !== undefined && fault !== 'lost-answer') return FAULTS[fault](response);

    const answer = await forward(server, request, body);
    if (fault === 'lost-answer') return FAULTS.reset(response);
    response.writeHead(answer.status, answer.headers).end(answer.body);
  });
  const failWhere = (next: FaultOf) => {
    faultOf = next;
  };
  return {
    url: `http://127.0.0.1:${await listen(front, 0)}`,
    /** The operations that were called, with their parameters, in order. */
    calls,
    operations,
    /** Lets the next `times` calls fail, all of them when left out; `undefined` ends it. */
    failWith: (fault: CallFault | undefined, times = Infinity) => {
      let left = times;
      failWhere(() => (left-- > 0 ? fault : undefined));
    },
    /** The same for all calls for which there is a fault. */
    failWhere,
    close: () => stop(front),
  };
}

async function forward(target: string, { headers }: IncomingMessage, body: Buffer) {
  const outgoing = send(target, { method: 'POST', headers, agent: false });
  outgoing.end(body);
  const [answer]: IncomingMessage[] = await once(outgoing, 'response');
  if (answer === undefined) throw new Error('no answer');
  const type = answer.headers['content-type'];
  return { status: answer.statusCode ?? 0, headers: { 'content-type': type }, body: await buffer(answer) };
}

/** The effect of each fault on an answer. The word `garbage` marks text that no caller may ever repeat. */
const FAULTS = {
  throttled: refuse(new AwsError('ThrottlingException', 'Rate exceeded: garbage')),
  'access-denied': refuse(new AwsError('AccessDeniedException', 'User: garbage is not authorized')),
  'internal-error': refuse(new AwsError('InternalServiceError', 'An error occurred: garbage', 500)),
  /** A success whose body breaks off in the middle of the secret. */
  garbage: (response: ServerResponse) => {
    response.writeHead(200, HEADERS).end('{"SecretString":"garbage"garbage');
  },
  /** Never answers. */
  hang: () => undefined,
  /** Cuts the connection. */
  reset: (response: ServerResponse) => {
    response.socket?.resetAndDestroy();
  },
} as const satisfies Record<string, (response: ServerResponse) => void>;

const HEADERS = { 'content-type': 'application/x-amz-json-1.1' };

function refuse({ type, message, status }: AwsError) {
  return (response: ServerResponse): void => {
    response.writeHead(status, HEADERS).end(JSON.stringify({ __type: type, Message: message }));
  };
}
