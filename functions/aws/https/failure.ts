import type { ClientRequest } from 'node:http';
import type { Socket } from 'node:net';
import { type AnswerHead, SendFailure } from '../../broker/token-request/send.ts';

/** How far a request got, as far as its connection tells. */
export interface Progress {
  /** The connection is ready, with TLS if any: from here on the request may have been sent. */
  readonly connected: () => boolean;
  /** The connection had served an earlier request and gave no byte for this one. */
  readonly silentOnReuse: () => boolean;
}

export function watchProgress(outgoing: ClientRequest): Progress {
  let connected = false;
  let reused: { readonly socket: Socket; readonly bytesRead: number } | undefined;

  outgoing.on('socket', (socket) => {
    connected = outgoing.reusedSocket;
    if (outgoing.reusedSocket) reused = { socket, bytesRead: socket.bytesRead };
    else
      socket.once(outgoing.protocol === 'https:' ? 'secureConnect' : 'connect', () => {
        connected = true;
      });
  });

  return {
    connected: () => connected,
    silentOnReuse: () => reused !== undefined && reused.socket.bytesRead === reused.bytesRead,
  };
}

/** The deadline has passed. */
export function timeoutFailure(progress: Progress, head: AnswerHead | undefined): SendFailure {
  return new SendFailure(progress.connected() ? 'timeout' : 'connect', 'ETIMEDOUT', head);
}

/** What an error of Node means. Only its code is kept: messages are not ours to vouch for. */
export function errorFailure(error: Error, progress: Progress, head: AnswerHead | undefined): SendFailure {
  const code = 'code' in error && typeof error.code === 'string' ? error.code : 'UNKNOWN';
  if (!progress.connected()) return new SendFailure(NETWORK_CODE.test(code) ? 'connect' : 'tls', code);
  if (code === 'HPE_HEADER_OVERFLOW') return new SendFailure('too-large', code);
  if (code.startsWith('HPE_')) return new SendFailure('malformed', code, head);
  return new SendFailure(progress.silentOnReuse() ? 'stale-socket' : 'broken', code, head);
}

/** System errors (`ECONNREFUSED`, `ENOTFOUND`); what else can go wrong before a connection is ready is TLS. */
const NETWORK_CODE = /^(?:E(?!RR|PROTO$)|ERR_SOCKET_)/;
