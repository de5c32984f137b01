import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { AwsError } from './error.ts';
import { FAULTS, type Fault } from './fault.ts';

/**
 * Serves operations over the AWS JSON 1.1 protocol on 127.0.0.1, to the AWS SDKs and the AWS command line.
 * Requests must carry a signature, which is not verified.
 */
export async function serveAwsJson({ service, operations, port = 0 }: Options): Promise<AwsJsonServer> {
  const calls: string[] = [];
  let fault: Fault | undefined;
  let faultsLeft = 0;

  const server = createServer(async (request, response) => {
    const name = operationName(request, service);
    calls.push(name);
    if (fault !== undefined && faultsLeft > 0) {
      faultsLeft -= 1;
      return FAULTS[fault](response);
    }
    try {
      const input = await readInput(request);
      const operation = operations.get(name);
      if (operation === undefined) throw new AwsError('UnknownOperationException', 'There is no such operation');
      write(response, 200, operation(input, accessKeyId(request)));
    } catch (error) {
      const { type, message, status } = error instanceof AwsError ? error : bug(error);
      write(response, status, { __type: type, Message: message });
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

export interface AwsJsonServer {
  readonly url: string;
  /** The names of the operations that were called, in order; nothing of what they were called with. */
  readonly calls: readonly string[];
  /** Lets the next `times` calls fail, all of them when left out; `undefined` ends it. */
  readonly failWith: (fault: Fault | undefined, times?: number) => void;
  readonly close: () => Promise<void>;
}

/**
 * Takes the parsed body of a request and the key that signed it, gives the answer's body; `undefined` is answered with an
 * empty one, as AWS does.
 */
export type Operation = (input: unknown, accessKeyId: string) => object | undefined;

interface Options {
  /** What stands before the dot in `X-Amz-Target`. */
  readonly service: string;
  readonly operations: ReadonlyMap<string, Operation>;
  readonly port?: number | undefined;
}

function operationName({ headers }: IncomingMessage, service: string): string {
  const [prefix, name] = `${headers['x-amz-target']}`.split('.');
  return prefix === service && name !== undefined ? name : 'unknown';
}

function accessKeyId({ headers }: IncomingMessage): string {
  return /Credential=([^/,\s]+)\//.exec(headers.authorization ?? '')?.[1] ?? '';
}

const MAX_BODY_BYTES = 1_048_576;

async function readInput(request: IncomingMessage): Promise<unknown> {
  if (request.method !== 'POST' || request.url !== '/') {
    throw new AwsError('UnknownOperationException', 'Operations are called with POST /', 404);
  }
  if (request.headers['content-type'] !== CONTENT_TYPE) {
    throw new AwsError('UnknownOperationException', `The content type must be ${CONTENT_TYPE}`, 404);
  }
  if (request.headers.authorization?.startsWith('AWS4-HMAC-SHA256 ') !== true) {
    throw new AwsError('MissingAuthenticationTokenException', 'Missing Authentication Token');
  }
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request) {
    bytes += chunk.length;
    if (bytes <= MAX_BODY_BYTES) chunks.push(chunk);
  }
  if (bytes > MAX_BODY_BYTES) throw new AwsError('RequestEntityTooLargeException', 'The body is too large', 413);
  return parseJson(Buffer.concat(chunks));
}

/** AWS takes a member that is null for one that is absent. */
function parseJson(body: Buffer): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body), (_key, value) => value ?? undefined);
  } catch {
    throw new AwsError('SerializationException', 'The body is not well-formed JSON');
  }
}

function write(response: ServerResponse, status: number, body: object | undefined): void {
  response.writeHead(status, { 'content-type': CONTENT_TYPE, 'x-amzn-requestid': randomUUID() });
  response.end(body === undefined ? '' : JSON.stringify(body));
}

/** The name alone: a bug's message could quote a secret. */
function bug(error: unknown): AwsError {
  return new AwsError('InternalFailure', error instanceof Error ? error.name : 'unknown', 500);
}

const CONTENT_TYPE = 'application/x-amz-json-1.1';
