import { createServer } from 'node:net';

/** A listener that completes no further connection while its process is blocked, as on a slow way to a host. */
const server = createServer((socket) => {
  socket.on('error', () => {});
  socket.on('data', () => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'));
});
server.listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => {
  const address = server.address();
  process.send?.(typeof address === 'object' ? address?.port : undefined);
});
process.on('message', () => {
  process.send?.('blocked', () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 500));
});
