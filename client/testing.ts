import { createHash } from 'node:crypto';
import { PROBLEMS } from '../functions/vocabulary.ts';
import { assertArgument } from './arguments.ts';
import { type Caller, createTokenBroker, type ProblemType, type TokenBroker } from './index.ts';

export interface FakeBrokerOptions {
  /** The start of the clock in epoch milliseconds. Default: the machine's time. */
  readonly startsAt?: number | undefined;
  /** The lifetime of each token. Default: 3600. */
  readonly lifetimeSeconds?: number | undefined;
  /** The caller. Default: a role that may do everything. */
  readonly caller?: Caller | undefined;
  /** The hosts whose 401 `TokenBroker.fetch` treats as a refused token, as in `createTokenBroker`. */
  readonly services?: Parameters<typeof createTokenBroker>[0]['services'];
  /** Sends the requests of `TokenBroker.fetch` to the service. Default: Node's own. */
  readonly fetch?: typeof globalThis.fetch | undefined;
}

/** A broker in memory for tests of code that uses a broker: no network, no AWS credentials, no waiting. */
export interface FakeBroker {
  /** The client itself, for the code under test, with its cache, its repetitions and its errors. */
  readonly broker: TokenBroker;
  /** The requests to the broker, in order. A token from the client's cache needs no request. */
  readonly requests: readonly FakeRequest[];
  /** The clock of broker and client in epoch milliseconds. A repetition of the client moves it, too. */
  readonly now: () => number;
  /** Moves the clock forward, so that tokens expire. */
  readonly advance: (ms: number) => void;
  /** Answers tokens and checks with a problem: all from now on, or the next few. */
  readonly fail: (type: ProblemType, options?: FailOptions) => void;
  readonly recover: () => void;
  /** Makes the service refuse all tokens that were issued so far. */
  readonly revoke: () => void;
  /** Returns whether a service would accept the token: issued here, not expired, not revoked. */
  readonly accepts: (accessToken: string) => boolean;
}

export interface FailOptions {
  readonly retryAfterSeconds?: number | undefined;
  /** The number of requests. Default: no limit. */
  readonly times?: number | undefined;
}

/** A request with the names of the wire: `min_ttl`, `refused`. */
export interface FakeRequest {
  readonly path: string;
  readonly members: Readonly<Record<string, unknown>>;
}

/** Creates a broker in memory. Its tokens are `fake-token-1`, `fake-token-2` and so on. */
export function createFakeBroker(options: FakeBrokerOptions = {}): FakeBroker {
  assertArgument(options, 'startsAt lifetimeSeconds caller services fetch', 'createFakeBroker({ caller })');
  const { lifetimeSeconds = 3_600, caller = ANYONE, services } = options;
  const requests: FakeRequest[] = [];
  const currentByPair = new Map<string, ReturnType<typeof issue>>();
  const endsByToken = new Map<string, number>();
  let clock = options.startsAt ?? Date.now();
  let failing: { readonly answer: () => Response; timesLeft: number } | undefined;
  let issuedTokens = 0;
  const advance = (ms: number) => {
    clock += ms;
  };

  const broker = createTokenBroker({
    url: URL_OF_BROKER,
    services,
    credentials: { accessKeyId: 'AKIDFAKE', secretAccessKey: 'fake' },
    now: () => clock,
    sleep: async (ms) => advance(ms),
    fetch: async (input, init) => {
      const { origin, pathname } = new URL(typeof input === 'object' && 'url' in input ? input.url : input);
      if (origin !== URL_OF_BROKER) return (options.fetch ?? globalThis.fetch)(input, init);
      const members: FakeRequest['members'] = JSON.parse(String(init?.body));
      requests.push({ path: pathname, members });
      return answer(pathname, members);
    },
  });

  function answer(path: string, members: FakeRequest['members']): Response {
    if (path === '/whoami') return Response.json(caller);
    if (failing !== undefined && failing.timesLeft > 0) {
      failing.timesLeft -= 1;
      return failing.answer();
    }
    if (path === '/token') return tokenAnswer(members);
    const { client, service, stage } = members;
    const found = { finding: 'accepted', version: 'fake-version', proven_by: 'request' };
    return Response.json({ client, service, stage, ...found, checked_at: new Date(clock).toISOString() });
  }

  function tokenAnswer({ client, service, min_ttl: minTtl = 0, refused }: FakeRequest['members']): Response {
    const pair = JSON.stringify([client, service]);
    const current = currentByPair.get(pair) ?? issue();
    const left = (current.expiresAt - clock) / 1_000;
    // Replaces a token with less than a fifth of its life left, as the broker does.
    const isFresh = left > lifetimeSeconds * 0.2 && (left >= Number(minTtl) || Number(minTtl) > lifetimeSeconds);
    const { accessToken, fingerprint, expiresAt } = isFresh && refused !== current.fingerprint ? current : issue();
    currentByPair.set(pair, { accessToken, fingerprint, expiresAt });
    return Response.json({
      access_token: accessToken,
      token_type: 'Bearer',
      expires_in: Math.floor((expiresAt - clock) / 1_000),
      expires_at: new Date(expiresAt).toISOString(),
      expiry_source: 'response',
      fingerprint,
    });
  }

  function issue() {
    issuedTokens += 1;
    const accessToken = `fake-token-${issuedTokens}`;
    const expiresAt = clock + lifetimeSeconds * 1_000;
    endsByToken.set(accessToken, expiresAt);
    const fingerprint = createHash('sha256').update(accessToken).digest('hex').slice(0, 16);
    return { accessToken, fingerprint, expiresAt };
  }

  return {
    broker,
    requests,
    now: () => clock,
    advance,
    fail: (type, { retryAfterSeconds, times = Number.POSITIVE_INFINITY } = {}) => {
      failing = { answer: () => problem(type, retryAfterSeconds), timesLeft: times };
    },
    recover: () => {
      failing = undefined;
    },
    revoke: () => endsByToken.clear(),
    accepts: (accessToken) => (endsByToken.get(accessToken) ?? 0) > clock,
  };
}

const URL_OF_BROKER = 'https://fake.lambda-url.us-east-1.on.aws';

const ANYONE: Caller = {
  role: 'arn:aws:iam::111111111111:role/fake',
  account: '111111111111',
  rules: [{ clients: 'all', services: 'all', operations: ['token', 'check'] }],
};

function problem(type: ProblemType, retryAfterSeconds: number | undefined): Response {
  const { status, title, retryable } = PROBLEMS[type];
  const detail = `The fake broker is set to fail: ${type}.`;
  const headers = new Headers({ 'content-type': 'application/problem+json' });
  if (retryAfterSeconds !== undefined) headers.set('retry-after', `${retryAfterSeconds}`);
  const members = { type, title, status, detail, retryable, request_id: 'fake-request' };
  return Response.json(members, { status, headers });
}
