import http, { type ClientRequest, type IncomingMessage, type RequestOptions } from 'node:http';
import https from 'node:https';
import { isIP } from 'node:net';
import { type AnswerHead, type HttpRequest, SendFailure, type SendLimits } from '../../broker/token-request/send.ts';
import type { TokenResponse } from '../../broker/token-response/body.ts';
import { type Agents, createAgents } from './agents.ts';

interface Options {
  /** Certificates (PEM) to trust instead of Node's own. */
  readonly ca?: string | undefined;
  /** Epoch milliseconds. */
  readonly now?: (() => number) | undefined;
}

/** A `Send` that its caller can end: from the signal on, the request is out of time. */
export type HttpsSender = (request: HttpRequest, limits: Limits) => Promise<TokenResponse>;

interface Limits extends SendLimits {
  readonly signal?: AbortSignal;
}

/**
 * Sends requests over kept connections, with one deadline over name look-up, connection, headers and body: verified TLS, plain
 * HTTP only on loopback. A redirect is an answer like any other. Errors of Node end here: their code is told, nothing else.
 */
export function createHttpsSender({ ca, now = Date.now }: Options = {}): HttpsSender {
  // Said aloud, because NODE_TLS_REJECT_UNAUTHORIZED=0 would switch it off.
  const agents = createAgents(now, { ca, minVersion: 'TLSv1.2', rejectUnauthorized: true });

  return async ({ method, url, headers, body }, limits) => {
    // Idle connections notice what happened to them; only the second turn is certain to have a whole round of reading before it.
    await turnOfTheLoop();
    await turnOfTheLoop();
    agents.dropUnfit();
    if (limits.signal?.aborted) throw new SendFailure('connect', 'ETIMEDOUT');
    const outgoing = open(url, { method, headers: revealed(headers), maxHeaderSize: MAX_HEADER_BYTES }, agents);
    return exchange(outgoing, body, limits);
  };
}

const MAX_HEADER_BYTES = 16_384;

function turnOfTheLoop(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

function open(url: URL, options: RequestOptions, { secure, plain }: Agents): ClientRequest {
  const { protocol, hostname } = url;
  // Node would take the name from a `host` header; an IP address has none.
  const servername = isIP(hostname.replace(/^\[(.*)\]$/, '$1')) === 0 ? { servername: hostname } : {};
  if (protocol === 'https:') return https.request(url, { ...options, ...servername, agent: secure });
  if (protocol === 'http:' && isLoopback(hostname)) return http.request(url, { ...options, agent: plain });
  throw new Error('A request goes over https, or over http on loopback.');
}

function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || (isIP(hostname) === 4 && hostname.startsWith('127.'));
}

function revealed(headers: HttpRequest['headers']) {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, typeof value === 'string' ? value : value.reveal()]),
  );
}

function exchange(outgoing: ClientRequest, body: string, limits: Limits): Promise<TokenResponse> {
  const { timeoutMs, maxBodyBytes, signal } = limits;
  return new Promise((resolve, reject) => {
    const progress = watchProgress(outgoing);
    let head: AnswerHead | undefined;
    let settled = false;

    const runOut = () => fail(new SendFailure(progress.connected() ? 'timeout' : 'connect', 'ETIMEDOUT', head));
    // One timer over everything: an answer that drips in does not extend it.
    const timer = setTimeout(runOut, timeoutMs);
    signal?.addEventListener('abort', runOut);

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
      signal?.removeEventListener('abort', runOut);
    }
  });
}

/** Each answer of 1xx costs memory; a service has no more to say before its answer than a proxy or two on the way. */
const MAX_INTERIM_ANSWERS = 16;

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
  let silentOnReuse = () => false;

  outgoing.on('socket', (socket) => {
    connected = outgoing.reusedSocket;
    const { bytesRead } = socket;
    if (connected) silentOnReuse = () => socket.bytesRead === bytesRead;
    else {
      socket.once(outgoing.protocol === 'https:' ? 'secureConnect' : 'connect', () => {
        connected = true;
      });
    }
  });

  return { connected: () => connected, silentOnReuse: () => silentOnReuse() };
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
