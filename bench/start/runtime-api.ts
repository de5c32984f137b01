import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';

/** Lambda as one instance sees it: it hands out invocations and takes their results. */
export interface RuntimeApi {
  /** For `AWS_LAMBDA_RUNTIME_API`. */
  readonly address: string;
  /** When the instance asked for its first invocation, by `performance.now()`. */
  readonly ready: Promise<number>;
  readonly invoke: (event: object) => Promise<Invoked>;
  readonly close: () => Promise<void>;
}

export interface Invoked {
  /** Undefined when the function failed. */
  readonly result: unknown;
  /** From the moment that the instance is given the event until its result has arrived. */
  readonly milliseconds: number;
}

/**
 * Starts the part of Lambda's Runtime API that a function needs, for one instance.
 *
 * @see https://docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html
 */
export async function startRuntimeApi(): Promise<RuntimeApi> {
  const ready = Promise.withResolvers<number>();
  let next = Promise.withResolvers<ServerResponse>();
  let invoked = Promise.withResolvers<{ readonly body: string | undefined; readonly at: number }>();
  let invocations = 0;

  const server = createServer(async (request: IncomingMessage, response: ServerResponse) => {
    if (request.url?.endsWith('/next')) {
      ready.resolve(performance.now());
      next.resolve(response);
      return;
    }
    const body = await text(request);
    const at = performance.now();
    response.writeHead(202).end();
    invoked.resolve({ body: request.url?.endsWith('/response') ? body : undefined, at });
  });
  server.keepAliveTimeout = 0;
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();

  return {
    address: `127.0.0.1:${typeof address === 'object' ? address?.port : ''}`,
    ready: ready.promise,
    async invoke(event) {
      const json = JSON.stringify(event);
      const response = await next.promise;
      next = Promise.withResolvers();
      invoked = Promise.withResolvers();
      invocations += 1;
      const startedAt = performance.now();
      response.setHeader('lambda-runtime-aws-request-id', `00000000-0000-4000-8000-${invocations}`.padEnd(36, '0'));
      response.setHeader('lambda-runtime-deadline-ms', Date.now() + TIMEOUT_MS);
      response.end(json);
      const { body, at } = await invoked.promise;
      return { result: body === undefined ? undefined : JSON.parse(body), milliseconds: at - startedAt };
    },
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}

/** The time-out of the token function. */
const TIMEOUT_MS = 15_000;
