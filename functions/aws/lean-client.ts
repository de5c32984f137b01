import type { Readable } from 'node:stream';

/** For every client of the SDK that a first call waits for: it repeats nothing, who calls decides that, see `withSecondTry`. */
export const LEAN = { maxAttempts: 1, streamCollector: collectBody } as const;

/** The same client without the SDK's log, which copies the input and the output of each call, whether anybody logs or not. */
export function withoutLog<Client extends Loggable>(client: Client): Client {
  client.middlewareStack.remove('loggerMiddleware');
  return client;
}

interface Loggable {
  readonly middlewareStack: { readonly remove: (name: string) => boolean };
}

/**
 * All bytes of an answer. The SDK's own way first asks whether the answer is a stream of a browser, and Node loads all
 * that it knows of those to say no.
 */
function collectBody(body: Readable): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const chunks: Uint8Array[] = [];
    body.on('data', (chunk: Uint8Array) => chunks.push(chunk));
    body.on('error', reject);
    body.on('end', () => resolve(Buffer.concat(chunks)));
  });
}
