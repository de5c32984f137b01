import type { ServerResponse } from 'node:http';
import { setTimeout } from 'node:timers/promises';
import { type ClientName, type Pair, pairKey, type ServiceName } from '../../../functions/broker/pair.ts';
import { type HttpAnswer, headerValue, json, type ReceivedRequest, serve } from '../loopback.ts';
import { INCIDENT_PATH, INCIDENTS, type Incident, type TokenServiceFault } from './incidents.ts';
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
  const answers = new Targeted<HttpAnswer>();
  const faults = new Targeted<TokenServiceFault>();
  const latencies = new Targeted<number>();
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
    answers.set(service, incident.answer);
    faults.set(service, incident.fault);
    latencies.set(service, incident.latencyMs);
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

    const latencyMs = latencies.find(service, client) ?? 0;
    if (latencyMs > 0) await setTimeout(latencyMs, undefined, { ref: false });
    const fault = faults.find(service, client);
    if (fault === 'reset') response.socket?.resetAndDestroy();
    if (fault !== undefined) return undefined;
    return answers.find(service, client) ?? (client !== undefined && ok ? issued(service, client) : REJECTED);
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
    /** Gives this answer to every token request, with any credential; `undefined` ends it, as below. */
    respondWith: (target: Target, answer: HttpAnswer | undefined) => answers.set(target, answer),
    fault: (fault: TokenServiceFault | undefined, target?: Target) => faults.set(target, fault),
    latency: (ms: number | undefined, target?: Target) => latencies.set(target, ms),
  };
}

export type TokenService = Awaited<ReturnType<typeof startTokenService>>;

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

/** The scope of a setting of the token service: one pair, one service, or everything when left out. */
type Target = Pair | ServiceName | undefined;

/** One value for each target; the narrowest target counts. */
class Targeted<T> {
  readonly #values = new Map<string, T | undefined>();

  /** `undefined` takes the target's value away. */
  set(target: Target, value: T | undefined): void {
    this.#values.set(targetKey(target), value);
  }

  find(service: ServiceName, client: ClientName | undefined): T | undefined {
    const ofPair = client === undefined ? undefined : this.#values.get(pairKey({ service, client }));
    return ofPair ?? this.#values.get(service) ?? this.#values.get('');
  }
}

/** A name has a letter and no slash, so the three kinds of targets cannot meet in one key. */
function targetKey(target: Target = ''): string {
  return typeof target === 'object' ? pairKey(target) : target;
}
