import { Agent, type IncomingMessage, request as requestPlain, type ServerResponse } from 'node:http';
import { request as requestWithTls } from 'node:https';
import { pipeline } from 'node:stream/promises';
import { Problem } from '../../functions/broker/problem.ts';
import {
  type IssuedToken,
  networkAdvice,
  safeCause,
  type TokenBroker,
  TokenBrokerError,
  TokenRefused,
} from '../index.ts';
import { Refusal } from './access.ts';
import { readBody } from './body.ts';
import { type Apis, parseTarget } from './target.ts';

type Broker = Pick<TokenBroker, 'withToken'>;

export interface Forwarding {
  readonly apis: Apis;
  /** The limit for a pause of the API, and of a caller in its body. */
  readonly silenceMs: number;
  /** Logs a call that has ended. It contains no path, header or body. */
  readonly log: (call: { client: string; service: string; method: string; status: number; ms: number }) => void;
}

/**
 * Forwards calls to the APIs of services, with the token of the pair in place of the key, and streams the answers back.
 * After a 401, reports the token and repeats the call once, if its body was small enough to keep.
 */
export function createForwarding(broker: Broker, key: string, { apis, silenceMs, log }: Forwarding) {
  /** Throws only before an answer has begun. @throws Refusal, Problem, TokenBrokerError */
  return async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { url, ...pair } = admit(request);
    const startedAt = performance.now();
    const gone = new AbortController();
    const { signal } = gone;
    response.once('close', () => {
      gone.abort();
      // 499 stands for a caller that left before its answer, as in the logs of other proxies.
      const status = response.headersSent ? response.statusCode : 499;
      log({ ...pair, method: request.method ?? '', status, ms: Math.round(performance.now() - startedAt) });
    });
    try {
      const body = await readBody(request, MAX_KEPT_BYTES, silenceMs);
      if (body?.includes(key)) throw new Problem('invalid-request', 'The key must not be in the body.');
      let refusal: IncomingMessage | undefined;
      const use = async (token: IssuedToken) => {
        // The body has been sent. The report of the refused token serves the next call.
        if (refusal !== undefined && body === undefined) return refusal;
        refusal?.resume();
        const answer = await send({ url, request, response, body, signal }, token);
        if (answer.statusCode !== 401) return answer;
        refusal = answer;
        throw new TokenRefused();
      };
      const answer = await broker.withToken({ ...pair, signal }, use).catch((error: unknown) => {
        if (refusal !== undefined && (body === undefined || error instanceof TokenRefused)) return refusal;
        throw error;
      });
      // A 204 has no length (RFC 9110 §8.6).
      const isEmpty = answer.statusCode === 204;
      response.writeHead(answer.statusCode ?? 502, endToEnd(answer, isEmpty ? ['content-length'] : []).flat());
      // An event stream may begin with silence.
      response.flushHeaders();
      // Reads as fast as the caller. An answer that breaks off breaks off for the caller, too.
      await pipeline(answer, response).catch(() => undefined);
    } catch (error) {
      if (!response.destroyed) throw error;
    }
  };

  /** @throws Refusal, Problem */
  function admit({ url = '', method = '', headers }: IncomingMessage) {
    const call = parseTarget(apis, url);
    // Escapes must not hide the key, which is in ASCII.
    const bytes = url.replace(/%([0-9a-f]{2})/gi, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)));
    if (bytes.includes(key)) throw new Problem('invalid-request', 'The key must not be in the URL.');
    const coding = headers['transfer-encoding'] ?? '';
    if (method === 'TRACE' || /websocket/i.test(headers.upgrade ?? '') || !/^(chunked)?$/i.test(coding)) {
      const detail = 'TRACE, WebSocket and transfer encodings other than chunked are not forwarded.';
      throw new Refusal(501, 'not-forwarded', detail);
    }
    const hasBody = coding !== '' || Number(headers['content-length'] ?? 0) > 0;
    if (hasBody && /^(GET|HEAD)$/.test(method)) throw new Problem('invalid-request', `A ${method} has no body.`);
    return call;
  }

  /** Sends a call. Returns the answer when that begins. @throws TokenBrokerError `api-unreachable` */
  function send(call: Call, token: IssuedToken, isRepeated = false): Promise<IncomingMessage> {
    const { url, request, response, body, signal } = call;
    const { method = '' } = request;
    const headers = headersOf(call, token);
    return new Promise((resolve, reject) => {
      const options = { method, headers, signal };
      const isPlain = url.protocol === 'http:';
      const outgoing = isPlain ? requestPlain(url, { ...options, agent: LOOPBACK }) : requestWithTls(url, options);
      let isSettled = false;
      const fail = (reason: string) => {
        isSettled = true;
        const retryable = IDEMPOTENT.test(method) || /^(ECONNREFUSED|ENOTFOUND|EAI_)/.test(reason);
        const facts = { retryable, advice: networkAdvice(reason, url) };
        reject(new TokenBrokerError(UNREACHABLE, `No answer from ${url.host} (${reason})`, facts));
      };
      const timer = setTimeout(() => {
        // The API waits for a caller that reads slowly.
        if (response.writableNeedDrain) return refresh();
        const isSending = body === undefined && !request.readableEnded && !outgoing.writableNeedDrain;
        if (isSending) reject(new Problem('invalid-request', `The body paused for ${silenceMs / 1_000} s.`));
        fail(`silent for ${silenceMs / 1_000} s`);
        outgoing.destroy();
      }, silenceMs);
      const refresh = () => void timer.refresh();
      outgoing
        .on('response', (answer) => {
          isSettled = true;
          resolve(answer.pause().on('data', refresh));
        })
        .on('error', (error) => {
          // The API may close an idle connection at the moment when a call takes it.
          const isStale = outgoing.reusedSocket && Object(error).code === 'ECONNRESET' && body !== undefined;
          if (isStale && IDEMPOTENT.test(method) && !isRepeated && !isSettled) resolve(send(call, token, true));
          else fail(safeCause(error).message);
        })
        .on('close', () => {
          clearTimeout(timer);
          fail('it ended the connection');
          if (body === undefined) request.off('data', refresh).unpipe(outgoing).resume();
        });
      if (body === undefined) request.on('data', refresh).pipe(outgoing);
      else outgoing.end(body);
    });
  }

  /** Returns the headers for the API: those of the caller without its key, and the token. */
  function headersOf({ url, request, body }: Call, token: IssuedToken): string[] {
    // A client must not use a token of a type that it does not know (RFC 6749 §7.1).
    const isBearer = token.tokenType.toLowerCase() === 'bearer';
    if (!isBearer) throw new Problem('token-response-unusable', 'The token is not a bearer token.');
    const { headers, method = '' } = request;
    const isKept = (value: string) => !value.includes(key) && value !== headers.authorization;
    const kept = endToEnd(request, OWN_HEADERS).filter(([, value]) => isKept(value));
    const length = body === undefined ? headers['content-length'] : `${body.byteLength}`;
    const isEmpty = length === '0' && /^(GET|HEAD|OPTIONS|DELETE)$/.test(method);
    const framing = length === undefined ? ['Transfer-Encoding', 'chunked'] : ['Content-Length', length];
    const own = ['Accept-Encoding', 'identity', 'Authorization', `Bearer ${token.accessToken}`];
    return ['Host', url.host, ...kept.flat(), ...own, ...(isEmpty ? [] : framing)];
  }
}

interface Call {
  readonly url: URL;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Absent if the body is too large to keep. */
  readonly body: Buffer | undefined;
  readonly signal: AbortSignal;
}

/** Methods whose call may be carried out twice (RFC 9110 §9.2.2). */
const IDEMPOTENT = /^(GET|HEAD|OPTIONS|PUT|DELETE)$/;

/** The type of the failure of an API. */
export const UNREACHABLE = 'api-unreachable';

/** Takes no proxy, which would read the token of a call without TLS. Node's own agent may take that of HTTP_PROXY. */
const LOOPBACK = new Agent({ keepAlive: true, timeout: 5_000, proxyEnv: {} });

/** The limit of a body that can be sent twice. */
const MAX_KEPT_BYTES = 64 * 1024;

/** Headers of a request that concern this server, or that this server writes itself. */
const OWN_HEADERS = ['host', 'accept-encoding', 'content-length', 'expect'];

const HOP_BY_HOP = [
  ...['connection', 'proxy-connection', 'keep-alive', 'te', 'trailer', 'transfer-encoding', 'upgrade'],
  ...['http2-settings', 'proxy-authorization', 'proxy-authenticate'],
];

/** Returns the headers that a proxy passes on, with their names as they came. @see RFC 9110 §7.6.1 */
function endToEnd({ rawHeaders, headers }: IncomingMessage, others: readonly string[]) {
  const left = new Set([...HOP_BY_HOP, ...others, ...(headers.connection ?? '').toLowerCase().split(/[\s,]+/)]);
  return rawHeaders.flatMap((name, index) => {
    const isKept = index % 2 === 0 && !left.has(name.toLowerCase());
    return isKept ? [[name, rawHeaders[index + 1] ?? ''] as const] : [];
  });
}
