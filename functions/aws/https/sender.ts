import type { ClientRequest, IncomingMessage, OutgoingHttpHeaders } from 'node:http';
import type { Socket } from 'node:net';
import {
  type AnswerHead,
  type HttpRequest,
  type Send,
  SendFailure,
  type SendLimits,
} from '../../broker/token-request/send.ts';
import type { TokenResponse } from '../../broker/token-response/body.ts';
import { createConnections } from './connections.ts';

interface Options {
  /** Certificates (PEM) to trust instead of Node's own. */
  readonly ca?: string | undefined;
  /** Epoch milliseconds. */
  readonly now?: (() => number) | undefined;
}

/**
 * Sends requests over kept connections, with one deadline over name look-up, connection, headers and body.
 * A redirect is an answer like any other. Errors of Node end here: their code is told, nothing else of them.
 */
export function createHttpsSender({ ca, now = Date.now }: Options = {}): Send {
  const connections = createConnections({ ca, now });

  return async ({ method, url, headers, body }, limits) => {
    await connections.catchUp();
    return exchange(connections.request(url, { method, headers: revealed(headers) }), body, limits);
  };
}

/** Each answer of 1xx costs memory; a service has no more to say before its answer than a proxy or two on the way. */
const MAX_INTERIM_ANSWERS = 16;

function revealed(headers: HttpRequest['headers']): OutgoingHttpHeaders {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, typeof value === 'string' ? value : value.reveal()]),
  );
}

function exchange(
  outgoing: ClientRequest,
  body: string,
  { timeoutMs, maxBodyBytes }: SendLimits,
): Promise<TokenResponse> {
  return new Promise((resolve, reject) => {
    const progress = watchProgress(outgoing);
    let head: AnswerHead | undefined;
    let settled = false;

    // One timer over everything: an answer that drips in does not extend it.
    const timer = setTimeout(() => fail(timeoutFailure(progress, head)), timeoutMs);

    outgoing.on('error', (error) => fail(errorFailure(error, progress, head)));
    // What ends without an error: an answer that is cut off, a switch of protocols.
    outgoing.on('close', () => fail(new SendFailure('broken', 'ECONNRESET', head)));
    let interimAnswers = 0;
    outgoing.on('information', () => {
      interimAnswers += 1;
      if (interimAnswers > MAX_INTERIM_ANSWERS) fail(new SendFailure('too-large', 'TOO_MANY_INTERIM_ANSWERS'));
    });
    outgoing.on('response', (incoming) => {
      const answer = headOf(incoming);
      head = answer;
      if (isEncoded(answer)) return fail(new SendFailure('encoded', 'CONTENT_ENCODING', answer));

      const chunks: Buffer[] = [];
      let size = 0;
      incoming.on('data', (chunk: Buffer) => {
        size += chunk.length;
        if (size > maxBodyBytes) return fail(new SendFailure('too-large', 'BODY_TOO_LARGE', answer));
        chunks.push(chunk);
      });
      incoming.on('end', () => {
        settle();
        resolve({ ...answer, body: Buffer.concat(chunks) });
      });
    });
    outgoing.end(body);

    function fail(failure: SendFailure): void {
      if (settled) return;
      settle();
      outgoing.destroy();
      reject(failure);
    }

    function settle(): void {
      settled = true;
      clearTimeout(timer);
    }
  });
}

/** Every value of a repeated header is kept; Node's own `headers` drops some of them. */
function headOf({ statusCode, headersDistinct }: IncomingMessage): AnswerHead {
  const headers = Object.entries(headersDistinct).map(([name, values]) => [name, values?.join(', ') ?? '']);
  return { status: statusCode ?? 0, headers: Object.fromEntries(headers) };
}

function isEncoded({ headers }: AnswerHead): boolean {
  return !['', 'identity'].includes(headers['content-encoding']?.toLowerCase() ?? '');
}

/** How far a request got, as far as its connection tells. */
interface Progress {
  /** The connection is ready, with TLS if any: from here on the request may have been sent. */
  readonly connected: () => boolean;
  /** The connection had served an earlier request and gave no byte for this one. */
  readonly silentOnReuse: () => boolean;
}

function watchProgress(outgoing: ClientRequest): Progress {
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
function timeoutFailure(progress: Progress, head: AnswerHead | undefined): SendFailure {
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
