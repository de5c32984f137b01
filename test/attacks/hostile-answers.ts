import type { Socket } from 'node:net';
import { brotliCompressSync, gzipSync } from 'node:zlib';

/** A service's reaction, on the connection, to a complete request. */
export type Reply = (socket: Socket) => void;

export function write(text: string): Reply {
  return (socket) => void socket.write(text, 'latin1');
}

/** Writes and ends its side of the connection. */
export function end(text: string): Reply {
  return (socket) => void socket.end(text, 'latin1');
}

/** Writes until the other side has gone, at most 64 MB. */
export function endless(start: string, more = 'x'.repeat(4_096)): Reply {
  return (socket) => {
    let left = 64_000_000;
    const pump = () => {
      while (left > 0 && !socket.destroyed) {
        left -= more.length;
        if (!socket.write(more, 'latin1')) return;
      }
    };
    socket.on('drain', pump).write(start, 'latin1');
    pump();
  };
}

/** A whole answer, with the length of its body. */
export function http(status: number, body: string, header = 'content-type: application/json'): string {
  return `${head(status)}${header}\r\ncontent-length: ${Buffer.byteLength(body, 'latin1')}\r\n\r\n${body}`;
}

/** The first line of an answer. */
export function head(status: number): string {
  return `HTTP/1.1 ${status} X\r\n`;
}

/** The head of an answer in chunks, and one of them. */
export const CHUNKED = `${head(200)}transfer-encoding: chunked\r\n\r\n`;
export const CHUNK = `1000\r\n${'x'.repeat(4_096)}\r\n`;

/** A hundred megabytes of nothing, in a hundred kilobytes. */
export function bomb(bytes = 100_000_000): string {
  return gzipSync(Buffer.alloc(bytes)).toString('latin1');
}

export function brotliBomb(): string {
  return brotliCompressSync(Buffer.alloc(100_000_000)).toString('latin1');
}
