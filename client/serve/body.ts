import type { IncomingMessage } from 'node:http';
import { Problem } from '../../functions/broker/problem.ts';

/** Reads a body. Leaves a body of more than `maxBytes` in the request, and returns `undefined`. @throws Problem */
export function readBody(request: IncomingMessage, maxBytes: number, ms: number): Promise<Buffer | undefined> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const fail = () => reject(new Problem('invalid-request', 'The body is incomplete.'));
    const timer = setTimeout(fail, ms);
    const settle = (body: Buffer | undefined) => {
      clearTimeout(timer);
      request.off('data', read).off('end', end);
      resolve(body);
    };
    const read = (chunk: Buffer) => {
      size += chunk.byteLength;
      chunks.push(chunk);
      if (size <= maxBytes) return;
      settle(undefined);
      request.pause().unshift(Buffer.concat(chunks));
    };
    const end = () => settle(Buffer.concat(chunks));
    request.on('data', read).on('end', end).on('error', fail);
  });
}
