import type { ServerResponse } from 'node:http';
import { setTimeout } from 'node:timers/promises';
import type { ClientName, ServiceName } from '../../../functions/broker/pair.ts';
import { type HttpAnswer, headerValue, json, type ReceivedRequest, serve } from '../loopback.ts';
import { type Behaviour, INCIDENT_PATH, INCIDENTS, type Incident } from './incidents.ts';
import { type AcceptedCredential, createTokenIssuer } from './issuer.ts';

/**
 * Stands in for the token endpoints of all services on 127.0.0.1, each below its own name:
 * `POST /<service>/auth/v1/token` checks the Basic credential and issues a token, which `GET /<service>/v1/whoami`
 * accepts. `POST /<service>/incident/<name>` plays an incident.
 */
export async function startTokenService(options: TokenServiceOptions) {
  const { credentials, acceptedSecret, port, now = Date.now, lifetimeSeconds = 3_600 } = options;
  const issuer = createTokenIssuer({ credentials, acceptedSecret, lifetimeSeconds, now });
  const requests: TokenRequestRecord[] = [];
  const behaviours = new Map<Target, Behaviour>();
  const playing = new Map<ServiceName, string>();

  async function respond(request: ReceivedRequest, response: ServerResponse): Promise<HttpAnswer | undefined> {
    const [, service = '', ...path] = request.path.split('/');
    if (!Object.hasOwn(credentials, service)) return NOT_FOUND;
    const order = `${request.method} ${path.join('/')}`;
    const authorization = headerValue(request, 'authorization');
    if (order === 'POST auth/v1/token') return answerTokenRequest(service, authorization, response);
    if (order === 'GET v1/whoami') return whoAmI(service, authorization);
    const name = order.startsWith(PLAY) ? order.slice(PLAY.length) : '';
    return play({ service, name }) === undefined ? NOT_FOUND : { status: 204 };
  }

  /** From now on; `undefined` when there is no such incident. */
  function play({ service, name }: { readonly service: ServiceName; readonly name: string }): Incident | undefined {
    const incident = PLAYABLE.get(name);
    if (incident === undefined || !Object.hasOwn(credentials, service)) return undefined;
    if (incident.revokes) {
      issuer.revoke(service);
      return incident;
    }
    behaviours.set(service, incident);
    playing.set(service, name);
    return incident;
  }

  function whoAmI(service: ServiceName, authorization: string | undefined): HttpAnswer {
    const client = issuer.ownerOf(service, authorization);
    return client === undefined ? json(401, { error: 'invalid_token' }) : json(200, { service, client });
  }

  async function answerTokenRequest(service: ServiceName, authorization: string | undefined, response: ServerResponse) {
    const { client, ok } = issuer.authenticate(service, authorization);
    requests.push({ service, client, at: now(), ok });

    const { latencyMs = 0, fault, answer } = behaviours.get(service) ?? behaviours.get(undefined) ?? {};
    if (latencyMs > 0) await setTimeout(latencyMs, undefined, { ref: false });
    if (fault === 'reset') response.socket?.resetAndDestroy();
    if (fault !== undefined) return undefined;
    return answer ?? (client !== undefined && ok ? issued(service, client) : REJECTED);
  }

  /** The two most common shapes of such services. */
  function issued(service: ServiceName, client: ClientName): HttpAnswer {
    const token = issuer.issue({ service, client });
    if (service === 'merchant-payment-cleansing') return json(200, { token, expiresIn: lifetimeSeconds });
    return json(200, { access_token: token, token_type: 'Bearer', expires_in: lifetimeSeconds });
  }

  const server = await serve(respond, { port, refusesForeign: true });
  return {
    ...server,
    authUrl: (service: ServiceName) => `${server.url}/${service}`,
    /** All token requests that arrived, failed ones too. */
    requests: requests as readonly TokenRequestRecord[],
    /** The incident that a service was told last to play. */
    playing: playing as ReadonlyMap<ServiceName, string>,
    play,
    /** Whether the token was issued here. */
    issued: issuer.issued,
    /** Gives this answer to every token request, with any credential; `undefined` ends it. */
    respondWith: (target: Target, answer: HttpAnswer | undefined) => void behaviours.set(target, { answer }),
    /** From now on, in place of any behaviour before. */
    behave: (target: Target, behaviour: Behaviour) => void behaviours.set(target, behaviour),
  };
}

export interface TokenServiceOptions {
  /** For each service the credentials that it accepts, perhaps none. */
  readonly credentials: Readonly<Record<ServiceName, readonly AcceptedCredential[]>>;
  /** Secrets that every service accepts, from any client. */
  readonly acceptedSecret?: RegExp | undefined;
  readonly lifetimeSeconds?: number;
  /** A free one when left out or taken. */
  readonly port?: number;
  /** Epoch milliseconds. */
  readonly now?: () => number;
}

interface TokenRequestRecord {
  readonly service: ServiceName;
  /** The client whose id was sent, if any service knows it. */
  readonly client: ClientName | undefined;
  /** Epoch milliseconds. */
  readonly at: number;
  /** Whether the service accepts the credential. */
  readonly ok: boolean;
}

const PLAYABLE = new Map<string, Incident>(Object.entries(INCIDENTS));

const PLAY = `POST ${INCIDENT_PATH}`;

const NOT_FOUND = json(404, { error: 'not_found' });
const REJECTED = json(401, { error: 'invalid_client' }, { 'www-authenticate': 'Basic realm="token service"' });

/** One service, or all that have no behaviour of their own. */
type Target = ServiceName | undefined;
