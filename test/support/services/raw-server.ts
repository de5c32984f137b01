import { once } from 'node:events';
import net, { type Socket } from 'node:net';
import tls from 'node:tls';
import { onTestFinished } from 'vitest';
import type { ServerCertificate } from './certificates.ts';

export type RawServer = Awaited<ReturnType<typeof startRawServer>>;

interface Behaviour {
  /** Called for each complete request, counted from 1 per server. */
  readonly onRequest?: (socket: Socket, count: number) => void;
  readonly onConnection?: (socket: Socket) => void;
  readonly certificate?: ServerCertificate;
}

/** A server, until the end of the test, that writes exactly the bytes a test wants, over plain TCP or TLS. */
export async function startRawServer({ onRequest, onConnection, certificate }: Behaviour) {
  const requests: string[] = [];
  const sockets = new Set<Socket>();

  const serve = (socket: Socket) => {
    sockets.add(socket);
    // A connection that the client breaks off is for the client's test to notice.
    socket.on('error', () => {});
    onConnection?.(socket);

    let received = '';
    socket.setEncoding('latin1').on('data', (text: string) => {
      received += text;
      for (let request = firstRequest(received); request !== undefined; request = firstRequest(received)) {
        received = received.slice(request.length);
        onRequest?.(socket, requests.push(request));
      }
    });
  };
  const server = certificate ? tls.createServer(certificate, serve) : net.createServer(serve);
  server.on('tlsClientError', () => {});

  await once(server.listen(0, '127.0.0.1'), 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The server has no port.');
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  return {
    port: address.port,
    /** Every request as it arrived, head and body. */
    requests,
    connections: () => sockets.size,
  };
}

function firstRequest(received: string): string | undefined {
  const head = /^.*?\r\n\r\n/s.exec(received)?.[0];
  if (head === undefined) return undefined;
  const length = head.length + Number(/^content-length: (\d+)/im.exec(head)?.[1] ?? 0);
  return received.length >= length ? received.slice(0, length) : undefined;
}
