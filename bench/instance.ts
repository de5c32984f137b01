import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { listen } from '../local/loopback.ts';

/**
 * Starts an instance as Lambda does, a process with a runtime client and a bundle, and waits until it polls for its
 * first invocation. Plays the part of Lambda's Runtime API. `folder` contains the bundle and the function's log.
 *
 * @see https://docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html
 */
export async function startInstance(client: string, folder: string, variables: Readonly<Record<string, string>>) {
  const server = createServer();
  server.keepAliveTimeout = 0;
  const api = `127.0.0.1:${await listen(server, 0)}`;
  // A file needs no reader that would compete for a processor.
  const log = openSync(join(folder, 'function.log'), 'w');
  const env = { ...variables, LAMBDA_TASK_ROOT: folder, AWS_LAMBDA_RUNTIME_API: api };
  const startedAt = performance.now();
  const child = spawn(process.execPath, [client], { env, stdio: ['ignore', log, log] });
  const ended = once(child, 'exit').then(([code]) => {
    const logged = readFileSync(join(folder, 'function.log'), 'utf8').slice(-2_000);
    throw new Error(`An instance ended with ${code}: ${logged}`);
  });
  ended.catch(() => undefined);
  /** Resolves with the next request. The instance sends a poll, the result of that invocation, and the next poll. */
  const nextRequest = (): Promise<[IncomingMessage, ServerResponse]> => {
    const request = Promise.race([once(server, 'request'), ended]) as Promise<[IncomingMessage, ServerResponse]>;
    request.catch(() => undefined);
    return request;
  };
  let poll = nextRequest();
  await poll;
  const initMs = performance.now() - startedAt;

  return {
    initMs,
    /** Returns the time until the result, the processor times of all threads before and of the call, and the memory. */
    async invoke(event: object) {
      const json = JSON.stringify(event);
      const [, invocation] = await poll;
      const invokedAt = performance.now();
      invocation.setHeader('lambda-runtime-aws-request-id', '00000000-0000-4000-8000-000000000000');
      invocation.setHeader('lambda-runtime-deadline-ms', Date.now() + TIMEOUT_MS);
      const answered = nextRequest();
      invocation.end(json);
      const [request, response] = await answered;
      const result: unknown = JSON.parse(await text(request));
      const firstMs = performance.now() - invokedAt;
      poll = nextRequest();
      response.writeHead(202).end();
      const [before, after, residentBytes] = JSON.parse(`${request.headers.usage}`);
      const initCpuMs = (before.user + before.system) / 1_000;
      const firstCpuMs = (after.user + after.system) / 1_000 - initCpuMs;
      return { result, firstMs, initCpuMs, firstCpuMs, residentBytes: Number(residentBytes) };
    },
    async close() {
      child.kill('SIGKILL');
      await ended.catch(() => undefined);
      server.close();
      server.closeAllConnections();
      closeSync(log);
    },
  };
}

/** The time-out of the token function. */
const TIMEOUT_MS = 15_000;
