import type { ClientRequest, Agent as HttpAgent, IncomingMessage, RequestOptions } from 'node:http';
import https from 'node:https';
import { isIP, type Socket } from 'node:net';
import { setImmediate as turnOfTheLoop } from 'node:timers/promises';
import { isWithin } from '../../broker/time.ts';
import type {
  AnswerHead,
  HttpRequest,
  SendFailureKind,
  SendHttp,
  SendLimits,
} from '../../broker/token-request/send-http.ts';
import { SendFailure } from '../../broker/token-request/send-http.ts';
import type { TokenResponse } from '../../broker/token-response/body.ts';
import { isLoopback } from '../../vocabulary.ts';

/** An `import` would load all that its exports depend on: 70 more modules, undici above all, that nothing here uses. */
const http = process.getBuiltinModule('node:http');

interface Options {
  /**
   * Requests share connections: for AWS, which is asked all the time and takes a request twice. A token request has one of its
   * own, because a kept one is nearly always dead, and a service that closes it after reading would get the credential twice.
   */
  readonly keepAlive?: boolean;
  readonly now?: () => number;
}

/**
 * Sends requests with one deadline over name look-up, connection, headers and body: verified TLS, plain HTTP only on loopback.
 * A redirect is an answer like any other. Errors of Node end here: their code is told, nothing else.
 */
export function createHttpsSender({ keepAlive = false, now = Date.now }: Options = {}): SendHttp {
  // Said aloud, because NODE_TLS_REJECT_UNAUTHORIZED=0 would switch it off.
  const tls = { minVersion: 'TLSv1.2', rejectUnauthorized: true } as const;
  const pool = keepAlive ? POOL : {};
  const agents = { secure: new https.Agent({ ...pool, ...tls }), plain: new http.Agent(pool) };
  const dropOld = keepAlive ? watchIdle(agents, now) : undefined;

  return async ({ method, url, headers, body, certificateAuthorities: ca }, limits) => {
    if (dropOld !== undefined) {
      // Idle connections notice what happened to them; only the second turn is certain to have a whole round of reading before it.
      await turnOfTheLoop();
      await turnOfTheLoop();
      dropOld();
    }
    if (limits.signal?.aborted) throw new SendFailure('connect', 'ETIMEDOUT');
    // The options of an agent would override `ca`, so they have none.
    const options = { method, headers: revealed(headers), maxHeaderSize: 16_384, ...(ca && { ca: [...ca] }) };
    return exchange(open(url, options, agents), body, limits);
  };
}

interface Agents {
  readonly secure: https.Agent;
  readonly plain: HttpAgent;
}

/**
 * Measures on the clock how long each connection is idle: a frozen instance runs no timers and wakes up with connections long
 * dead. Gives the function that closes the old ones, to be called before each request.
 */
function watchIdle({ secure, plain }: Agents, now: () => number): () => void {
  const idleSince = new WeakMap<Socket, number>();
  for (const agent of [secure, plain]) {
    const keepSocketAlive = agent.keepSocketAlive.bind(agent);
    agent.keepSocketAlive = (socket: Socket) => {
      idleSince.set(socket, now());
      return keepSocketAlive(socket);
    };
  }
  return () => {
    const free = [secure, plain].flatMap(({ freeSockets }) => Object.values(freeSockets));
    for (const socket of free.flatMap((sockets = []) => sockets)) {
      if (!isWithin(MAX_IDLE_MS, idleSince.get(socket), now())) socket.destroy();
    }
  };
}

/** Below what load balancers commonly allow an idle connection. */
const MAX_IDLE_MS = 30_000;
const POOL = { keepAlive: true, scheduling: 'lifo', maxSockets: 64, maxFreeSockets: 8, timeout: MAX_IDLE_MS } as const;

function open(url: URL, options: RequestOptions, { secure, plain }: Agents): ClientRequest {
  const { protocol, hostname } = url;
  // Node would take the name from a `host` header; an IP address has none.
  const servername = isIP(hostname.replace(/^\[(.*)\]$/, '$1')) === 0 ? { servername: hostname } : {};
  if (protocol === 'https:') return https.request(url, { ...options, ...servername, agent: secure });
  if (protocol === 'http:' && isLoopback(hostname)) return http.request(url, { ...options, agent: plain });
  throw new Error('A request goes over https, or over http on loopback.');
}

function revealed(headers: HttpRequest['headers']) {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, typeof value === 'string' ? value : value.reveal()]),
  );
}

function exchange(outgoing: ClientRequest, body: string, { timeoutMs, maxBodyBytes, signal }: SendLimits) {
  return new Promise<TokenResponse>((resolve, reject) => {
    /** The connection is ready, with TLS if any: from here on the request may have been sent. */
    let isConnected = false;
    let head: AnswerHead | undefined;
    let interimAnswers = 0;

    const runOut = () => fail(isConnected ? 'timeout' : 'connect', 'ETIMEDOUT');
    // One timer over everything: an answer that drips in does not extend it.
    const timer = setTimeout(runOut, timeoutMs);
    signal?.addEventListener('abort', runOut);

    outgoing.on('socket', (socket) => {
      isConnected = outgoing.reusedSocket;
      if (!isConnected)
        socket.once(outgoing.protocol === 'https:' ? 'secureConnect' : 'connect', () => (isConnected = true));
    });
    // Only the code of an error is kept: messages are not ours to vouch for.
    outgoing.on('error', (error) => {
      const code = 'code' in error && typeof error.code === 'string' ? error.code : 'UNKNOWN';
      if (!isConnected) return fail(NETWORK_CODE.test(code) ? 'connect' : 'tls', code);
      if (code.startsWith('HPE_')) return fail(code === 'HPE_HEADER_OVERFLOW' ? 'too-large' : 'malformed', code);
      fail('broken', code);
    });
    // What ends without an error: an answer that is cut off, a switch of protocols.
    outgoing.on('close', () => fail('broken', 'ECONNRESET'));
    outgoing.on('information', () => {
      interimAnswers += 1;
      if (interimAnswers > MAX_INTERIM_ANSWERS) fail('too-large', 'TOO_MANY_INTERIM_ANSWERS');
    });
    outgoing.on('response', (incoming) => {
      const answer = headOf(incoming);
      head = answer;
      const encoding = answer.headers['content-encoding']?.toLowerCase() ?? '';
      if (!['', 'identity'].includes(encoding)) return fail('encoded', 'CONTENT_ENCODING');

      const chunks: Buffer[] = [];
      let size = 0;
      incoming.on('data', (chunk: Buffer) => {
        size += chunk.length;
        if (size > maxBodyBytes) return fail('too-large', 'BODY_TOO_LARGE');
        chunks.push(chunk);
      });
      incoming.on('end', () => {
        settle();
        resolve({ ...answer, body: Buffer.concat(chunks) });
      });
    });
    outgoing.end(body);

    /** What comes after the end changes nothing any more. */
    function fail(kind: SendFailureKind, code: string): void {
      settle();
      outgoing.destroy();
      reject(new SendFailure(kind, code, head));
    }

    function settle(): void {
      clearTimeout(timer);
      signal?.removeEventListener('abort', runOut);
    }
  });
}

/** System errors (`ECONNREFUSED`, `ENOTFOUND`); what else can go wrong before a connection is ready is TLS. */
const NETWORK_CODE = /^(?:E(?!RR|PROTO$)|ERR_SOCKET_)/;

/** Each answer of 1xx costs memory; a service has no more to say before its answer than a proxy or two on the way. */
const MAX_INTERIM_ANSWERS = 16;

/** Every value of a repeated header is kept; Node's own `headers` drops some of them. */
function headOf({ statusCode, headersDistinct }: IncomingMessage): AnswerHead {
  const headers = Object.entries(headersDistinct).map(([name, values]) => [name, values?.join(', ') ?? '']);
  return { status: statusCode ?? 0, headers: Object.fromEntries(headers) };
}
