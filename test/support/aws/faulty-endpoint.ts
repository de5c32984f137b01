import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse, request as send } from 'node:http';
import { buffer } from 'node:stream/consumers';
import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import { listen, stop } from '../../../bin/local/loopback.ts';
import { FAULTS, type Fault } from './aws-faults.ts';

/** The faults of a call of AWS on its way; `lost-answer` lets it reach its target. */
export type CallFault = Fault | 'lost-answer' | keyof typeof STRANGE_ANSWERS | Reply;

/** Answers in the place of the target. */
type Reply = (response: ServerResponse) => void;

export interface FaultyEndpoint {
  readonly url: string;
  /** The operations that were called, with their parameters, in order. */
  readonly calls: readonly AwsCall[];
  readonly operations: readonly string[];
  /** How many connections have come. */
  readonly connections: () => number;
  /** Lets the next `times` calls fail, all of them when left out; `undefined` ends it. */
  readonly failWith: (fault: CallFault | undefined, times?: number) => void;
  /** Lets all calls fail for which there is a fault, until it is called again. */
  readonly failWhere: (faultOf: FaultOf) => void;
  readonly close: () => Promise<void>;
}

export type FaultOf = (call: AwsCall) => CallFault | undefined;

export interface AwsCall {
  readonly operation: string;
  readonly parameters: { readonly ConsistentRead?: boolean; readonly Item?: Record<string, AttributeValue> };
}

/** Stands between an AWS client and the server at this URL, on 127.0.0.1, and adds the faults of a network. */
export async function startFaultyEndpoint(server: string): Promise<FaultyEndpoint> {
  const calls: AwsCall[] = [];
  const operations: string[] = [];
  let fault: CallFault | undefined;
  let faultsLeft = 0;
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
    const own = faultsLeft > 0 ? fault : faultOf(call);
    faultsLeft -= 1;
    if (typeof own === 'function') return own(response);
    if (own === 'no-item' || own === 'another-item') return void response.end(STRANGE_ANSWERS[own]);
    if (own !== undefined && own !== 'lost-answer') return FAULTS[own](response);

    const answer = await forward(server, request, body);
    if (own === 'lost-answer') return FAULTS.reset(response);
    response.writeHead(answer.status, answer.headers).end(answer.body);
  });
  let connections = 0;
  front.on('connection', () => {
    connections += 1;
  });
  return {
    url: `http://127.0.0.1:${await listen(front, 0)}`,
    calls,
    operations,
    connections: () => connections,
    failWith: (next, times = Number.POSITIVE_INFINITY) => {
      fault = next;
      faultsLeft = times;
    },
    failWhere: (next) => {
      faultOf = next;
    },
    close: () => stop(front),
  };
}

/** Successes with a malformed item, or with an item that the request did not ask for. */
const STRANGE_ANSWERS = {
  'no-item': '{"Item":{"pair":["garbage"],"lease":7},"Attributes":{"lease":"garbage"}}',
  'another-item': '{"Item":{"pair":{"S":"globex/garbage"}},"Attributes":{"pair":{"S":"globex/garbage"}}}',
} as const;

async function forward(target: string, { headers }: IncomingMessage, body: Buffer) {
  const outgoing = send(target, { method: 'POST', headers, agent: false });
  outgoing.end(body);
  const [answer]: IncomingMessage[] = await once(outgoing, 'response');
  if (answer === undefined) throw new Error('no answer');
  return {
    status: answer.statusCode ?? 0,
    headers: { 'content-type': answer.headers['content-type'] },
    body: await buffer(answer),
  };
}
