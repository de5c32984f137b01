import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readdirSync, readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';

/** An instance of a function as Lambda starts it: a process with a runtime client and a bundle. */
export type Instance = Awaited<ReturnType<typeof startInstance>>;

interface InstanceOptions {
  readonly runtimeClient: string;
  /** Contains the bundle and the function's log. A file needs no reader that would compete for a processor. */
  readonly folder: string;
  readonly variables: Readonly<Record<string, string>>;
}

/** Starts an instance and waits until it polls for its first invocation. */
export async function startInstance({ runtimeClient, folder, variables }: InstanceOptions) {
  const api = await startRuntimeApi();
  const log = openSync(join(folder, 'function.log'), 'w');
  const env = { ...variables, LAMBDA_TASK_ROOT: folder, AWS_LAMBDA_RUNTIME_API: api.address };
  const startedAt = performance.now();
  const child = spawn(process.execPath, [runtimeClient], { env, stdio: ['ignore', log, log] });
  const ended = once(child, 'exit').then(([code]) => {
    const logged = readFileSync(join(folder, 'function.log'), 'utf8').slice(-2_000);
    throw new Error(`An instance ended with ${code}: ${logged}`);
  });
  ended.catch(() => undefined);
  const initMs = (await Promise.race([api.ready, ended])) - startedAt;

  return {
    initMs,
    /** Returns the time until the result arrived. `result` is undefined if the function failed. */
    invoke: (event: object) => Promise.race([api.invoke(event), ended]),
    processorTime: () => orUndefined(() => processorTimeOf(child.pid)),
    residentBytes: () => orUndefined(() => residentBytesOf(child.pid)),
    async close() {
      child.kill('SIGKILL');
      await ended.catch(() => undefined);
      api.close();
      closeSync(log);
    },
  };
}

/**
 * Starts the part of Lambda's Runtime API that an instance needs, which hands out invocations and takes their results.
 *
 * @see https://docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html
 */
async function startRuntimeApi() {
  const ready = Promise.withResolvers<number>();
  let next = Promise.withResolvers<ServerResponse>();
  let invoked = Promise.withResolvers<{ readonly body: string | undefined; readonly at: number }>();
  let invocations = 0;
  const server = createServer(async (request: IncomingMessage, response) => {
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
    /** The time of the instance's first poll for an invocation, by `performance.now()`. */
    ready: ready.promise,
    async invoke(event: object) {
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
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

/** The time-out of the token function. */
const TIMEOUT_MS = 15_000;

/** Returns `undefined` on other systems than Linux, which do not support the reading. */
function orUndefined<Value>(read: () => Value): Value | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

/** Returns the milliseconds that all threads have used a processor, and waited for a busy processor. */
function processorTimeOf(pid = 0) {
  const threads = readdirSync(`/proc/${pid}/task`).map((thread) =>
    readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ').map(Number),
  );
  const sum = (column: number) => threads.reduce((total, each) => total + (each[column] ?? Number.NaN), 0) / 1e6;
  return { used: sum(0), waited: sum(1) };
}

function residentBytesOf(pid = 0): number {
  const [, kilobytes] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kilobytes) * 1024;
}
