import { parseEvent, toResult } from '../../functions/aws/function-url.ts';
import { type Audit, type AuditRecord, newTrace } from '../../functions/broker/audit.ts';
import { type AccessRule, createRulesOf } from '../../functions/broker/authorize.ts';
import { createSecretCache, type ReadSecret, type SecretReading } from '../../functions/broker/credential/secret.ts';
import { type BrokerRequest, createTokenEndpoint } from '../../functions/broker/http/token-endpoint.ts';
import type { IssueRequest } from '../../functions/broker/pair/decision.ts';
import { createObtainToken } from '../../functions/broker/pair/obtain-token.ts';
import type { PairStore } from '../../functions/broker/pair/store.ts';
import { Redacted } from '../../functions/broker/redacted.ts';
import type { Service } from '../../functions/broker/service.ts';
import { createTokenBroker, type TokenBroker } from '../../functions/broker/token-broker.ts';
import type { RequestToken, TokenExchange } from '../../functions/broker/token-request/token-request.ts';
import { shortDigest } from '../../functions/variables.ts';
import type { SecretStage } from '../../functions/vocabulary.ts';
import { CONTEXT } from './aws/function-url-events.ts';
import { BILLING, exampleRule, exampleService, PAIR, START } from './example.ts';
import { createReferencePairStore } from './pair/reference-pair-store.ts';

type Answered = Awaited<ReturnType<RequestToken>>;

interface World {
  readonly services: Record<string, Service>;
  readonly accessRules: AccessRule[];
  readonly principalOrgId?: string;
  /** The token endpoint's answer to the n-th token request (from 1); may throw. */
  answer: (n: number, ...request: Parameters<RequestToken>) => Answered | Promise<Answered>;
  /** The answer of Secrets Manager; may be changed while the world runs. */
  secret: (client: string, stage: SecretStage) => SecretReading | Promise<SecretReading>;
  /** The shared cache. */
  readonly store: PairStore;
  /** Sees every audit record when it is made. */
  readonly audit?: Audit;
}

/** The real rules around a token endpoint and a Secrets Manager that are functions, and a clock that stands still. */
export function createBrokerWorld(changes: Partial<World> = {}) {
  const world: World = {
    services: { 'customer-insights': exampleService(), 'merchant-payment-cleansing': exampleService() },
    accessRules: [exampleRule()],
    answer: (n) => exchange(200, { access_token: `token-${n}`, expires_in: 3_600 }),
    secret: () => found('v1'),
    store: createReferencePairStore(),
    ...changes,
  };
  const clock = { now: START };
  const counts = { secretReads: 0, tokenRequests: 0 };
  let ids = 0;
  const audited: AuditRecord[] = [];
  const rulesOf = createRulesOf(world.accessRules, world.principalOrgId);

  const broker = wireBroker({
    services: world.services,
    store: world.store,
    rulesOf,
    readSecret: async (client, stage) => {
      counts.secretReads += 1;
      return world.secret(client, stage);
    },
    requestToken: async (...request) => {
      counts.tokenRequests += 1;
      const answered = await world.answer(counts.tokenRequests, ...request);
      return { ...answered, requestStartedAt: clock.now, receivedAt: clock.now };
    },
    fingerprint: shortDigest,
    uniqueId: () => `call-${++ids}`,
    now: () => clock.now,
    sleep: async (ms) => {
      clock.now += ms;
    },
    random: () => 0.5,
  });
  const audit: Audit = (record) => {
    audited.push(record);
    world.audit?.(record);
  };
  const endpoint = createTokenEndpoint({ broker, rulesOf, rulesDigest: RULES_DIGEST, audit, now: () => clock.now });

  return {
    world,
    clock,
    counts,
    audited,
    issue: async (changes: Partial<IssueRequest> = {}) =>
      broker.issue(BILLING, { ...ISSUE_REQUEST, ...changes }, clock.now + 10_000, newTrace()),
    post: async (members: unknown, changes: Partial<BrokerRequest> = {}) => {
      const response = await endpoint({ ...brokerRequest(JSON.stringify(members)), ...changes });
      return { ...response, json: JSON.parse(response.body) };
    },
    /** As Lambda brings a request, and takes its answer. */
    invoke: async (event: unknown) => toResult(await endpoint(parseEvent(event, CONTEXT, clock.now))),
  };
}

type Ports = Parameters<typeof createTokenBroker>[0];

interface Wiring extends Pick<Ports, 'services' | 'store' | 'uniqueId' | 'now' | 'sleep' | 'random'> {
  readonly readSecret: ReadSecret;
  readonly requestToken: RequestToken;
  readonly rulesOf?: Ports['rulesOf'];
  readonly fingerprint?: (token: string) => string;
}

/** The rules as the token function wires them. Unless told otherwise all callers may do all; a token begins with its fingerprint. */
export function wireBroker({ readSecret, requestToken, ...wiring }: Wiring): TokenBroker {
  const { services, now, random, fingerprint = (token) => token.padEnd(16, '0').slice(0, 16), ...ports } = wiring;
  return createTokenBroker({
    environment: 'test',
    rulesOf: createRulesOf([ALL]),
    settingsDigest: () => SETTINGS_DIGEST,
    provenForMs: 3_600_000,
    ...ports,
    services,
    now,
    random,
    secrets: createSecretCache({ now, readSecret }),
    obtainToken: createObtainToken({ requestToken, fingerprint, random, now }),
  });
}

const ALL = exampleRule({ clients: 'all', services: 'all', operations: ['token', 'check'] });

export const SETTINGS_DIGEST = '0000000000000000';

export const ISSUE_REQUEST: IssueRequest = { pair: PAIR, minTtlMs: 0, refused: undefined };

/** A complete answer of a token endpoint. */
export function exchange(status: number, members: unknown, headers: Record<string, string> = {}): TokenExchange {
  const body = new TextEncoder().encode(JSON.stringify(members));
  const response = { status, headers: { 'content-type': 'application/json', ...headers }, body };
  return { response, requestStartedAt: START, receivedAt: START };
}

export const SECRETS_DOWN = { outcome: 'unavailable', cause: 'TimeoutError' } as const satisfies SecretReading;

/** The digest of the access rules of a world, as `whoami` tells it. */
export const RULES_DIGEST = '0123456789abcdef';

/** A reading of a secret that has these members; it is for all services unless they say otherwise. */
export function found(
  versionId: string,
  members: unknown = { client_id: 'id', secret: 'secret' },
  stage: SecretStage = 'AWSCURRENT',
): SecretReading {
  const secret = typeof members === 'object' ? { services: 'all', ...members } : members;
  return { outcome: 'found', secret: { versionId, stage, text: new Redacted(JSON.stringify(secret)) } };
}

function brokerRequest(body: string): BrokerRequest {
  return {
    requestId: 'request-1',
    method: 'POST',
    path: '/token',
    query: '',
    contentType: 'application/json',
    body,
    caller: BILLING,
    deadline: START + 10_000,
  };
}
