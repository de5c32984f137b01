import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { setTimeout } from 'node:timers/promises';
import { type ClientName, type Pair, pairKey, type ServiceName } from '../../../functions/broker/pair/pair.ts';
import { listenNear, refuseForeign, stop } from '../loopback.ts';
import {
  give,
  INCIDENT_PATH,
  INCIDENTS,
  type Incident,
  incidentOf,
  json,
  problem,
  type TokenServiceAnswer,
  type TokenServiceFault,
} from './answer.ts';
import { type AcceptedCredential, createTokenIssuer } from './issuer.ts';

/**
 * Stands in for the token endpoints of all services on 127.0.0.1, each below its own name:
 * `POST /<service>/auth/v1/token` checks the Basic credential and issues a token, which `GET /<service>/v1/whoami`
 * accepts. `POST /<service>/incident/<name>` plays an incident, for no page of a browser.
 */
export async function startTokenService(options: TokenServiceOptions): Promise<TokenService> {
  const { credentials, acceptedSecret, now = Date.now, lifetimeSeconds = 3_600 } = options;
  const issuer = createTokenIssuer({ credentials, acceptedSecret, lifetimeSeconds, now });
  const requests: TokenRequestRecord[] = [];
  const answers = new Targeted<TokenServiceAnswer>();
  const faults = new Targeted<TokenServiceFault>();
  const latencies = new Targeted<number>();

  const server = createServer((request, response) => {
    // A client that hangs up half-way gets no answer.
    respond(request, response).catch(() => response.destroy());
  });
  const port = await listenNear(server, options.port);
  const url = `http://127.0.0.1:${port}`;

  async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    request.resume();
    const [, service = '', ...rest] = new URL(request.url ?? '', url).pathname.split('/');
    const path = Object.hasOwn(credentials, service) ? rest.join('/') : '';
    const expected = METHODS.get(path);
    const incident = incidentOf(path);

    if (expected === undefined) give(response, problem(404, 'not_found'));
    else if (request.method !== expected) give(response, problem(405, 'method_not_allowed', { allow: expected }));
    else if (path === TOKEN_PATH) await answerTokenRequest(service, request, response);
    else if (incident !== undefined) give(response, play(service, incident, request));
    else give(response, whoAmI(service, request));
  }

  async function answerTokenRequest(service: ServiceName, { headers }: IncomingMessage, response: ServerResponse) {
    const { client, ok } = issuer.authenticate(service, headers.authorization);
    requests.push({ service, client, at: now(), ok });

    const latencyMs = latencies.find(service, client) ?? 0;
    if (latencyMs > 0) await setTimeout(latencyMs, undefined, { ref: false });
    const issue = () => (client !== undefined && ok ? issued(service, client) : REJECTED);
    give(response, answers.find(service, client) ?? issue(), faults.find(service, client));
  }

  /** The two shapes that the world of such services knows best. */
  function issued(service: ServiceName, client: ClientName): TokenServiceAnswer {
    const token = issuer.issue({ service, client });
    return json(
      200,
      service === 'merchant-payment-cleansing'
        ? { token, expiresIn: lifetimeSeconds }
        : { access_token: token, token_type: 'Bearer', expires_in: lifetimeSeconds },
    );
  }

  function whoAmI(service: ServiceName, { headers }: IncomingMessage): TokenServiceAnswer {
    const client = issuer.ownerOf(service, headers.authorization);
    if (client === undefined) return problem(401, 'invalid_token', { 'www-authenticate': 'Bearer' });
    return json(200, { service, client });
  }

  function play(service: ServiceName, incident: Incident, request: IncomingMessage): TokenServiceAnswer {
    const refused = refuseForeign(request);
    if (refused !== undefined) return problem(refused.status, refused.message);
    answers.set(service, incident.answer);
    faults.set(service, incident.fault);
    latencies.set(service, incident.latencyMs);
    return { status: 204 };
  }

  return {
    url,
    authUrl: (service) => `${url}/${service}`,
    requests,
    issued: issuer.issued,
    respondWith: (target, answer) => answers.set(target, answer),
    fault: (fault, target) => faults.set(target, fault),
    latency: (ms, target) => latencies.set(target, ms),
    close: () => stop(server),
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

export interface TokenService {
  readonly url: string;
  readonly authUrl: (service: ServiceName) => string;
  /** All token requests that arrived, failed ones too. */
  readonly requests: readonly TokenRequestRecord[];
  /** Whether the token was issued here. */
  readonly issued: (token: string) => boolean;
  /** Gives this answer to every token request, with any credential; `undefined` ends it, as below. */
  readonly respondWith: (target: Target, answer: TokenServiceAnswer | undefined) => void;
  readonly fault: (fault: TokenServiceFault | undefined, target?: Target) => void;
  readonly latency: (ms: number | undefined, target?: Target) => void;
  readonly close: () => Promise<void>;
}

interface TokenRequestRecord {
  readonly service: ServiceName;
  /** Whose client id was sent, if any service knows it. */
  readonly client: ClientName | undefined;
  /** Epoch milliseconds. */
  readonly at: number;
  /** Whether the service accepts the credential. */
  readonly ok: boolean;
}

const TOKEN_PATH = 'auth/v1/token';
const WHOAMI_PATH = 'v1/whoami';
const METHODS = new Map<string, string>([
  [TOKEN_PATH, 'POST'],
  [WHOAMI_PATH, 'GET'],
  ...Object.keys(INCIDENTS).map((name) => [INCIDENT_PATH + name, 'POST'] as const),
]);

const REJECTED = problem(401, 'invalid_client', { 'www-authenticate': 'Basic realm="token service", charset="UTF-8"' });

/** What a setting of the token service is for: one pair, one service, or everything when left out. */
type Target = Pair | ServiceName | undefined;

/** One value for each target; the narrowest target counts. */
class Targeted<T> {
  readonly #values = new Map<string, T>();

  /** `undefined` takes the target's value away. */
  set(target: Target, value: T | undefined): void {
    if (value === undefined) this.#values.delete(targetKey(target));
    else this.#values.set(targetKey(target), value);
  }

  find(service: ServiceName, client: ClientName | undefined): T | undefined {
    const ofPair = client === undefined ? undefined : this.#values.get(targetKey({ service, client }));
    return ofPair ?? this.#values.get(targetKey(service)) ?? this.#values.get(targetKey(undefined));
  }
}

/** A service's name cannot be taken for everything, nor a pair's key for a service: a name has no slash and a letter. */
function targetKey(target: Target): string {
  return typeof target === 'object' ? pairKey(target) : (target ?? '');
}
