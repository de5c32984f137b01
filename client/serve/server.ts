import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { Server } from 'node:net';
import { oauthToken } from '../../functions/broker/http/oauth.ts';
import {
  type Dialect,
  parseIssueRequest,
  parseOAuthForm,
  parseWhoamiRequest,
  readOAuthForm,
} from '../../functions/broker/http/request.ts';
import { type BrokerResponse, respond } from '../../functions/broker/http/token-endpoint.ts';
import { Problem } from '../../functions/broker/problem.ts';
import type { TokenBroker } from '../index.ts';
import { createAccess, Refusal, refuseForeign, unauthorized } from './access.ts';
import { failureAnswer, tokenMembers } from './answers.ts';
import { readBody } from './body.ts';
import { createForwarding, type Forwarding } from './forward.ts';
import { proofOf } from './key.ts';

interface Options {
  readonly broker: Pick<TokenBroker, 'token' | 'whoami' | 'withToken'>;
  /** The key. Default: a new key, which names the port. */
  readonly key?: string | undefined;
  /** The port. 0 selects a free port. */
  readonly port: number;
  /** Logs a failure, once for all callers that waited. The line contains no token and no key. */
  readonly note: (line: string) => void;
  /** `false`: issues no tokens to callers. */
  readonly hasToken?: boolean | undefined;
  /** The APIs that calls are forwarded to, if any. */
  readonly forwarding?: Forwarding | undefined;
}

/** Serves the broker's contract on 127.0.0.1 to callers with the key. @throws Node's error when it cannot listen */
export async function startServer({ broker, note, hasToken = true, forwarding, ...options }: Options) {
  const noted = new WeakSet<Error>();
  let isEnding = false;

  const server = createServer(LIMITS);
  // Further connections are closed without an answer.
  server.maxConnections = 1_000;
  await new Promise<void>((resolve, reject) => server.on('error', reject).listen(options.port, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : options.port;
  const key = options.key ?? `tbk-${port}-${randomBytes(32).toString('base64url')}`;
  const access = createAccess(key);
  const forward = forwarding && createForwarding(broker, key, forwarding);
  server.on('request', async (request, response) => {
    // A call may have begun before the end.
    response.once('close', () => isEnding && request.socket.end());
    const reply = await answer(request, response);
    if (isEnding) response.shouldKeepAlive = false;
    if (reply !== undefined) {
      const { status, headers, body } = reply;
      response.writeHead(status, { ...headers, 'content-length': Buffer.byteLength(body) }).end(body);
    }
    // The caller may still send the body of a request that has its answer.
    request.resume();
    if (!request.complete) setTimeout(() => request.destroy(), BODY_LIMIT_MS).unref();
  });

  return {
    url: `http://127.0.0.1:${port}`,
    port,
    key,
    /** Accepts no new connections. Ends open requests after `patienceMs` at the latest. */
    close: async (patienceMs: number) => {
      isEnding = true;
      // `server.close()` would reset the connections that are used again within this second.
      Server.prototype.close.call(server);
      setTimeout(() => server.closeIdleConnections(), Math.min(1_000, patienceMs)).unref();
      setTimeout(() => server.closeAllConnections(), patienceMs).unref();
      await once(server, 'close');
    },
  };

  /** Answers every failure, and never throws. Returns no answer after a call that was forwarded. */
  async function answer(request: IncomingMessage, response: ServerResponse): Promise<BrokerResponse | undefined> {
    try {
      const { method, url: path, headers } = request;
      refuseForeign(request);
      const shown = access.inHeaders(headers);
      // Some checks of a container's health send a HEAD.
      if (/^(GET|HEAD)$/.test(`${method}`) && path === '/ping') {
        // Another server asks whose key a file contains.
        const challenge = headers['x-token-broker-challenge'];
        return respond(200, { ok: true }, challenge ? { 'x-token-broker-proof': proofOf(key, `${challenge}`) } : {});
      }
      if (forward !== undefined && shown !== undefined && path?.startsWith('/api/')) {
        await forward(request, response);
        return undefined;
      }
      admit(request, shown);
      const body = await readBody(request, MAX_BODY_BYTES, BODY_LIMIT_MS);
      if (body === undefined) throw new Problem('content-too-large', `The body has more than ${MAX_BODY_BYTES} bytes.`);
      if (path === '/token') return await answerToken(headers['content-type'], body, shown);
      parseWhoamiRequest(body);
      const { role, account, rules, rulesDigest } = await broker.whoami();
      return respond(200, { role, account, rules, rules_digest: rulesDigest });
    } catch (error) {
      return answerFailure(error, 'broker');
    }
  }

  /** Admits a POST to a known path, with the key where the body cannot contain it. @throws Refusal, Problem */
  function admit({ method, url: path }: IncomingMessage, shown: ReturnType<typeof access.inHeaders>): void {
    // A form may contain the key, but only on this path.
    const mayShowLater = method === 'POST' && path === '/token';
    if (shown === undefined && !mayShowLater) throw unauthorized();
    if (path !== '/token' && path !== '/whoami') {
      throw new Problem('not-found', 'The server answers POST /token, POST /whoami and GET /ping.');
    }
    if (method !== 'POST') throw new Problem('method-not-allowed', 'Send a POST.');
    if (path === '/token' && !hasToken) throw new Refusal(403, 'no-token', NO_TOKEN);
  }

  /** Answers failures too, in the dialect of the request. @throws Refusal without the key */
  async function answerToken(
    contentType: string | undefined,
    body: Uint8Array,
    shown: ReturnType<typeof access.inHeaders>,
  ) {
    const form = readOAuthForm(contentType, body);
    if (form === undefined && shown === undefined) throw unauthorized();
    try {
      const wanted = form ? parseOAuthForm(access.inForm(form, shown)) : parseIssueRequest(contentType, body);
      const { pair, minTtlMs, refused } = wanted;
      const token = await broker.token({ ...pair, minTtl: minTtlMs / 1_000, refused });
      const members = { ...token.passThrough, ...tokenMembers(token) };
      return respond(200, form ? oauthToken(members) : members);
    } catch (error) {
      return answerFailure(error, form === undefined ? 'broker' : 'oauth');
    }
  }

  function answerFailure(error: unknown, dialect: Dialect): BrokerResponse {
    const { answer, line } = failureAnswer(error, dialect);
    // All callers that waited for the same request get the same error.
    if (line !== undefined && error instanceof Error && !noted.has(error)) note(line);
    if (error instanceof Error) noted.add(error);
    return answer;
  }
}

/** Milliseconds. Most clients close an idle connection earlier, so that no request meets a closing connection. */
const LIMITS = {
  headersTimeout: 2_000,
  // A call of an API may upload for long: the limit of other bodies is `BODY_LIMIT_MS`.
  requestTimeout: 0,
  connectionsCheckingInterval: 1_000,
  keepAliveTimeout: 65_000,
};

const BODY_LIMIT_MS = 3_000;

const NO_TOKEN = 'This server was started with --no-token: call /api/CLIENT/SERVICE/….';

/** The broker's own limit. The rest of a larger body is read and dropped. */
const MAX_BODY_BYTES = 16 * 1024;
