import { randomBytes } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { setTimeout } from 'node:timers/promises';
import type { ClientName, Pair, ServiceName } from '../../functions/broker/pair.ts';
import { type Behaviour, INCIDENTS, type Incident } from '../incidents.ts';
import { type HttpAnswer, headerValue, json, type ReceivedRequest, serve } from '../loopback.ts';

/**
 * Stands in for the token endpoints of all services on 127.0.0.1, each below its own name.
 * `POST /<service>/auth/v1/token` checks the Basic credential and issues a token.
 * `GET /<service>/v1/whoami` accepts the token.
 */
export async function startTokenService(options: TokenServiceOptions) {
  const { credentials, acceptedSecret, port, lifetimeSeconds = 3_600 } = options;
  const tokens = new Map<string, Pair & { readonly expiresAt: number }>();
  const requests: TokenRequestRecord[] = [];
  const behaviours = new Map<Target, Behaviour>();
  const playing = new Map<ServiceName, string>();

  async function respond(request: ReceivedRequest, response: ServerResponse): Promise<HttpAnswer | undefined> {
    const [, service = '', ...path] = request.path.split('/');
    if (!Object.hasOwn(credentials, service)) return NOT_FOUND;
    const order = `${request.method} ${path.join('/')}`;
    const authorization = headerValue(request, 'authorization');
    if (order === 'POST auth/v1/token') return answerTokenRequest(service, authorization, response);
    return order === 'GET v1/whoami' ? whoAmI(service, authorization) : NOT_FOUND;
  }

  /** Starts an incident. Returns `undefined` when there is no such incident or service. */
  function play({ service, name }: { readonly service: ServiceName; readonly name: string }): Incident | undefined {
    const incident = PLAYABLE.get(name);
    if (incident === undefined || !Object.hasOwn(credentials, service)) return undefined;
    if (incident.revokes) {
      for (const [token, of] of tokens) if (of.service === service) tokens.set(token, { ...of, expiresAt: 0 });
      return incident;
    }
    behaviours.set(service, incident);
    playing.set(service, name);
    return incident;
  }

  function whoAmI(service: ServiceName, authorization = ''): HttpAnswer {
    const token = tokens.get(authorization.replace(/^Bearer /, ''));
    if (token?.service !== service || Date.now() >= token.expiresAt) return json(401, { error: 'invalid_token' });
    return json(200, { service, client: token.client });
  }

  async function answerTokenRequest(service: ServiceName, authorization: string | undefined, response: ServerResponse) {
    const [clientId, secret = ''] = parseBasic(authorization);
    const isAcceptable = acceptedSecret?.test(secret) ?? false;
    const known = Object.values(credentials).flat();
    const client =
      known.find(({ client_id }) => client_id === clientId)?.client ?? (isAcceptable ? clientId : undefined);
    const ok =
      isAcceptable ||
      credentials[service]?.some((pair) => pair.client_id === clientId && pair.secret === secret) === true;
    requests.push({ service, client, at: Date.now(), ok });

    const { latencyMs = 0, fault, answer } = behaviours.get(service) ?? behaviours.get(undefined) ?? {};
    if (latencyMs > 0) await setTimeout(latencyMs, undefined, { ref: false });
    if (fault === 'reset') response.socket?.resetAndDestroy();
    if (fault !== undefined) return undefined;
    return answer ?? (client !== undefined && ok ? issued(service, client) : REJECTED);
  }

  /** The two most common forms of a token response. */
  function issued(service: ServiceName, client: ClientName): HttpAnswer {
    const token = randomBytes(32).toString('base64url');
    tokens.set(token, { service, client, expiresAt: Date.now() + lifetimeSeconds * 1_000 });
    if (service === 'merchant-payment-cleansing') return json(200, { token, expiresIn: lifetimeSeconds });
    return json(200, { access_token: token, token_type: 'Bearer', expires_in: lifetimeSeconds });
  }

  const server = await serve(respond, { port, refusesForeign: true });
  return {
    ...server,
    authUrl: (service: ServiceName) => `${server.url}/${service}`,
    /** All token requests that arrived, including rejected requests. */
    requests: requests as readonly TokenRequestRecord[],
    /** The last incident that each service was ordered to play. */
    playing: playing as ReadonlyMap<ServiceName, string>,
    play,
    /** Returns true if the token was issued here. */
    issued: (token: string): boolean => tokens.has(token),
    /** Replaces the behaviour. */
    behave: (target: Target, behaviour: Behaviour) => void behaviours.set(target, behaviour),
  };
}

/** A client's credential, as in the client's secret. */
interface AcceptedCredential {
  readonly client: ClientName;
  readonly client_id: string;
  readonly secret: string;
}

export interface TokenServiceOptions {
  /** The credentials that each service accepts. The list may be empty. */
  readonly credentials: Readonly<Record<ServiceName, readonly AcceptedCredential[]>>;
  /** Secrets that every service accepts, from any client. */
  readonly acceptedSecret?: RegExp | undefined;
  readonly lifetimeSeconds?: number;
  /** An absent or taken port is replaced by any free port. */
  readonly port?: number;
}

interface TokenRequestRecord {
  readonly service: ServiceName;
  /** The client whose id was sent. Absent when no service has this id. */
  readonly client: ClientName | undefined;
  /** Epoch milliseconds. */
  readonly at: number;
  /** The service accepts the credential. */
  readonly ok: boolean;
}

const PLAYABLE = new Map<string, Incident>(Object.entries(INCIDENTS));

const NOT_FOUND = json(404, { error: 'not_found' });
const REJECTED = json(401, { error: 'invalid_client' }, { 'www-authenticate': 'Basic realm="token service"' });

/** A service, or `undefined` for all services without a behaviour of their own. */
type Target = ServiceName | undefined;

/** RFC 7617: everything after the first colon is the secret. */
function parseBasic(authorization = ''): readonly [clientId?: string, secret?: string] {
  const encoded = /^Basic +([A-Za-z0-9+/]+=*)$/i.exec(authorization)?.[1];
  if (encoded === undefined) return [];
  const [clientId = '', ...secret] = Buffer.from(encoded, 'base64').toString('utf8').split(':');
  return secret.length === 0 ? [] : [clientId, secret.join(':')];
}
