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
import type { TokenResponse } from '../../broker/token-response/content.ts';
import { isLoopback } from '../../vocabulary.ts';

/** An `import` would load 70 more modules on which its exports depend, mainly undici, and nothing here uses them. */
const http = process.getBuiltinModule('node:http');

interface Options {
  /**
   * Requests share connections, for AWS: its requests are frequent and repeatable. A token request opens its own.
   * An old connection is mostly dead, and a service that closes it after reading would receive the credential twice.
   */
  readonly keepAlive?: boolean;
  readonly now?: () => number;
}

/**
 * Sends requests with a single deadline for name look-up, connection, headers and body: verified TLS, and plain HTTP
 * only on loopback. A redirect is an answer like any other. Only the code of Node's errors is reported.
 */
export function createHttpsSender({ keepAlive = false, now = Date.now }: Options = {}): SendHttp {
  // Verification is explicit, because NODE_TLS_REJECT_UNAUTHORIZED=0 would disable it.
  const tls = { minVersion: 'TLSv1.2', rejectUnauthorized: true } as const;
  // Node's agents take no proxy from the environment variables then.
  const pool = { ...(keepAlive && POOL), proxyEnv: {} };
  const agents = { secure: new https.Agent({ ...pool, ...tls }), plain: new http.Agent(pool) };
  const dropOld = keepAlive ? watchIdle(agents, now) : undefined;

  return async ({ method, url, headers, body, certificateAuthorities: ca, isClassical }, limits) => {
    if (dropOld !== undefined) {
      // Idle connections notice their end. Only the second turn is certain to follow a whole round of reading.
      await turnOfTheLoop();
      await turnOfTheLoop();
      dropOld();
    }
    if (limits.signal?.aborted) throw new SendFailure('connect', 'ETIMEDOUT');
    // An agent's options would override `ca` and `ecdhCurve`, so they contain neither.
    const options = {
      method,
      headers: revealed(headers),
      maxHeaderSize: 16_384,
      // Node's default of 250 ms per address is too short for some networks, and fatal where IPv6 has no route.
      autoSelectFamilyAttemptTimeout: Math.ceil(Math.min(MAX_ADDRESS_MS, limits.timeoutMs / 3)),
      ...(ca && { ca: [...ca] }),
      ...(isClassical && { ecdhCurve: CLASSICAL_GROUPS }),
    };
    return exchange(open(url, options, agents), body, limits);
  };
}

const MAX_ADDRESS_MS = 2_000;
/** Without a post-quantum group the first message of TLS fits into a single packet. */
const CLASSICAL_GROUPS = 'X25519:prime256v1:secp384r1';

interface Agents {
  readonly secure: https.Agent;
  readonly plain: HttpAgent;
}

/**
 * Returns a function that closes old idle connections, to be called before each request. The clock measures how long
 * they are idle: a frozen instance runs no timers, and its connections are long dead when it resumes.
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

/** The limit is shorter than the usual idle timeout of load balancers. */
const MAX_IDLE_MS = 30_000;
const POOL = { keepAlive: true, scheduling: 'lifo', maxSockets: 64, maxFreeSockets: 8, timeout: MAX_IDLE_MS } as const;

function open(url: URL, options: RequestOptions, { secure, plain }: Agents): ClientRequest {
  const { protocol, hostname } = url;
  // Node would take the server name from a `host` header. An IP address has no server name.
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

function exchange(
  outgoing: ClientRequest,
  body: string,
  { timeoutMs, handshakeMs = timeoutMs, maxBodyBytes, signal }: SendLimits,
) {
  return new Promise<TokenResponse>((resolve, reject) => {
    /** The connection is ready, including any TLS: from here on the request may have been sent. */
    let isConnected = false;
    /** The limit of TLS, once the TCP connection stands. */
    let handshake: NodeJS.Timeout | undefined;
    let head: AnswerHead | undefined;
    let interimAnswers = 0;

    const unconnected = () => (handshake === undefined ? 'connect' : 'handshake');
    const runOut = () => fail(isConnected ? 'timeout' : unconnected(), 'ETIMEDOUT');
    // A single timer covers everything: an answer that arrives slowly does not extend it.
    const timer = setTimeout(runOut, timeoutMs);
    signal?.addEventListener('abort', runOut);

    outgoing.on('socket', (socket) => {
      isConnected = outgoing.reusedSocket;
      if (isConnected) return;
      const isSecure = outgoing.protocol === 'https:';
      if (isSecure) socket.once('connect', () => (handshake = setTimeout(runOut, handshakeMs)));
      socket.once(isSecure ? 'secureConnect' : 'connect', () => {
        clearTimeout(handshake);
        isConnected = true;
      });
    });
    // Only the code of an error is kept, because its message can contain anything.
    outgoing.on('error', (error) => {
      const code = 'code' in error && typeof error.code === 'string' ? error.code : 'UNKNOWN';
      if (!isConnected) return fail(NETWORK_CODE.test(code) ? unconnected() : 'tls', tlsCode(code, error.message));
      if (code.startsWith('HPE_')) return fail(code === 'HPE_HEADER_OVERFLOW' ? 'too-large' : 'malformed', code);
      fail(CLIENT_CERTIFICATE.test(code) ? 'client-certificate' : 'broken', code);
    });
    // An answer that is cut off and a switch of protocols end without an error.
    outgoing.on('close', () => fail('broken', 'ECONNRESET'));
    outgoing.on('information', () => {
      interimAnswers += 1;
      if (interimAnswers > MAX_INTERIM_ANSWERS) fail('too-large', 'TOO_MANY_INTERIM_ANSWERS');
    });
    outgoing.on('response', (incoming) => {
      const answer = headOf(incoming);
      head = answer;
      const chunks: Buffer[] = [];
      let size = 0;
      incoming.on('data', (chunk: Buffer) => {
        size += chunk.length;
        if (size > maxBodyBytes) return fail('too-large', 'BODY_TOO_LARGE');
        chunks.push(chunk);
      });
      incoming.on('end', () => {
        const inflated = inflate(Buffer.concat(chunks), answer.headers['content-encoding'] ?? '', maxBodyBytes);
        if (inflated === undefined) return fail('too-large', 'BODY_TOO_LARGE');
        settle();
        resolve({ ...answer, body: inflated });
      });
    });
    outgoing.end(body);

    /** Rejects the request. Events after its end change nothing. */
    function fail(kind: SendFailureKind, code: string): void {
      settle();
      outgoing.destroy();
      reject(new SendFailure(kind, code, head));
    }

    function settle(): void {
      clearTimeout(timer);
      clearTimeout(handshake);
      signal?.removeEventListener('abort', runOut);
    }
  });
}

/** Adds a known reason to the code of OpenSSL, whose message can contain anything. */
function tlsCode(code: string, message: string): string {
  const [, reason] = TLS_REASONS.find(([words]) => code === 'EPROTO' && words.test(message)) ?? [];
  return reason === undefined ? code : `${code}: ${reason}`;
}

/** A server asks for it in TLS 1.3 after the broker's last message of TLS. */
const CLIENT_CERTIFICATE = /ALERT_(?:CERTIFICATE_REQUIRED|BAD_CERTIFICATE)$/;

const TLS_REASONS: readonly (readonly [RegExp, string])[] = [
  [/legacy renegotiation/, 'old renegotiation'],
  [/alert (?:bad certificate|certificate required)/, 'it wants a client certificate'],
  [/unrecognized name/, 'it does not know this host name'],
  [/handshake failure/, 'no protocol in common, or it wants a client certificate'],
  [/protocol/, 'no protocol in common'],
  [/wrong version|too long|http request/, 'not TLS'],
  [/too small|too weak/, 'weak key'],
];

/** System errors (`ECONNREFUSED`, `ENOTFOUND`). Every other error before a connection is ready is an error of TLS. */
const NETWORK_CODE = /^(?:E(?!RR|PROTO$)|ERR_SOCKET_)/;

/** The largest number of 1xx answers, because each costs memory. A service and its proxies need only a few. */
const MAX_INTERIM_ANSWERS = 16;

/** Keeps every value of a repeated header. Node's own `headers` drops some of them. */
function headOf({ statusCode, headersDistinct }: IncomingMessage): AnswerHead {
  const headers = Object.entries(headersDistinct).map(([name, values]) => [name, values?.join(', ') ?? '']);
  return { status: statusCode ?? 0, headers: Object.fromEntries(headers) };
}

/**
 * Returns a body without its content encodings, which a service or a proxy may add unasked. Returns a body as it is if
 * that is impossible, because a proxy may also inflate a body and keep the header. `undefined`: it is too large.
 */
export function inflate(body: Buffer, contentEncoding: string, maxOutputLength: number): Buffer | undefined {
  let inflated = body;
  try {
    // The last encoding is the outermost. Another proxy removes the header, and no content begins like gzip.
    for (const coding of [...contentEncoding.toLowerCase().split(',').toReversed(), 'gzip']) {
      inflated = inflateOnce(inflated, coding.trim(), { maxOutputLength });
    }
    return inflated;
  } catch (error) {
    return error instanceof RangeError ? undefined : body;
  }
}

/** Every limit is an error of the type RangeError. */
function inflateOnce(body: Buffer, coding: string, options: { readonly maxOutputLength: number }): Buffer {
  const zlib = process.getBuiltinModule('node:zlib');
  // Some services leave out the trailer with the checksum. Others read such a body, too.
  const lenient = { ...options, finishFlush: zlib.constants.Z_SYNC_FLUSH };
  if (body[0] === 0x1f && body[1] === 0x8b) return zlib.gunzipSync(body, lenient);
  if (coding === 'br') return zlib.brotliDecompressSync(body, options);
  // RFC 9659 limits the window, which is memory, to 8 MB.
  const params = { [zlib.constants.ZSTD_d_windowLogMax]: 23 };
  if (coding === 'zstd') return zlib.zstdDecompressSync(body, { ...options, params });
  if (coding !== 'deflate') return body;
  // Some services send it without the header of zlib.
  return ((body[0] ?? 0) & 0x0f) === 8 ? zlib.inflateSync(body, lenient) : zlib.inflateRawSync(body, lenient);
}
