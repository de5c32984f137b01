import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { AwsError } from './error.ts';
import { FAULTS, type Fault } from './fault.ts';

/**
 * Serves actions over the AWS query protocol (a form in, XML out) on 127.0.0.1, to the AWS SDKs and the AWS command line.
 * Requests must carry a signature, which is not verified.
 */
export async function serveAwsQuery({ actions, port = 0 }: Options): Promise<AwsQueryServer> {
  const calls: string[] = [];
  let fault: Fault | undefined;
  let faultsLeft = 0;

  const server = createServer(async (request, response) => {
    try {
      const input = await readInput(request);
      const name = input.get('Action') ?? '';
      calls.push(name);
      if (fault !== undefined && faultsLeft > 0) {
        faultsLeft -= 1;
        return FAULTS[fault](response);
      }
      const action = actions.get(name);
      if (action === undefined) throw new AwsError('InvalidAction', 'There is no such action');
      write(response, 200, {
        [`${name}Response`]: { [`${name}Result`]: action(input), ResponseMetadata: requestId() },
      });
    } catch (error) {
      const { type, message, status } = error instanceof AwsError ? error : bug(error);
      const refusal = { Type: status < 500 ? 'Sender' : 'Receiver', Code: type, Message: message };
      write(response, status, { ErrorResponse: { Error: refusal, ...requestId() } });
    }
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();

  return {
    url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : port}`,
    calls,
    failWith: (next, times = Number.POSITIVE_INFINITY) => {
      fault = next;
      faultsLeft = times;
    },
    close: async () => {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

export interface AwsQueryServer {
  readonly url: string;
  /** The names of the actions that were called, in order; nothing of what they were called with. */
  readonly calls: readonly string[];
  /** Lets the next `times` calls fail, all of them when left out; `undefined` ends it. */
  readonly failWith: (fault: Fault | undefined, times?: number) => void;
  readonly close: () => Promise<void>;
}

/** Takes the parameters of a request, gives the members of the answer. */
type Action = (input: URLSearchParams) => Members;

interface Options {
  readonly actions: ReadonlyMap<string, Action>;
  readonly port?: number | undefined;
}

interface Members {
  readonly [name: string]: string | Members;
}

async function readInput(request: IncomingMessage): Promise<URLSearchParams> {
  const body = await text(request);
  if (request.method !== 'POST' || request.url !== '/') {
    throw new AwsError('InvalidAction', 'Actions are called with POST /', 404);
  }
  if (request.headers.authorization?.startsWith('AWS4-HMAC-SHA256 ') !== true) {
    throw new AwsError('MissingAuthenticationToken', 'Request is missing Authentication Token', 403);
  }
  return new URLSearchParams(body);
}

function requestId() {
  return { RequestId: randomUUID() };
}

function write(response: ServerResponse, status: number, members: Members): void {
  response.writeHead(status, { 'content-type': 'text/xml' }).end(xml(members));
}

function xml(members: Members): string {
  return Object.entries(members)
    .map(([name, value]) => `<${name}>${typeof value === 'string' ? escapeXml(value) : xml(value)}</${name}>`)
    .join('');
}

function escapeXml(value: string): string {
  return value.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

/** The name alone: a bug's message could quote what was sent. */
function bug(error: unknown): AwsError {
  return new AwsError('InternalFailure', error instanceof Error ? error.name : 'unknown', 500);
}
