import type { CacheUse } from './audit.ts';
import { type Authorize, accessDenied } from './authorize.ts';
import type { Caller } from './caller.ts';
import { parseCredential } from './credential.ts';
import type { ReadCredentialVersion } from './credentials.ts';
import { isBelowMinTtl, isIssuable, type TokenLife } from './freshness.ts';
import type { IssueRequest } from './issue-request.ts';
import { MemoryCache } from './memory-cache.ts';
import { type Pair, pairKey, type ServiceName } from './pair.ts';
import { Problem } from './problem.ts';
import type { SecretVersion } from './secret.ts';
import type { Service } from './service.ts';
import { SingleFlight } from './single-flight.ts';
import type { RequestToken } from './token-request.ts';
import { readTokenResponse, type ServiceToken } from './token-response.ts';

/** A token as a caller receives it. */
export interface IssuedToken extends ServiceToken {
  /** The first 16 hexadecimal digits of the token's SHA-256: names the token without giving it away. */
  readonly fingerprint: string;
  readonly credentialVersion: string;
}

export interface Issue {
  readonly token: IssuedToken;
  readonly cache: CacheUse;
  readonly tokenRequestAttempts?: number | undefined;
}

export interface TokenBroker {
  /**
   * Gives the caller a token of the pair that is not about to lapse.
   *
   * @param deadline epoch milliseconds
   * @throws Problem whatever kept the broker from it
   */
  issue(caller: Caller, request: IssueRequest, deadline: number): Promise<Issue>;
}

interface Dependencies {
  readonly services: Readonly<Record<ServiceName, Service>>;
  readonly authorize: Authorize;
  readonly readCredentialVersion: ReadCredentialVersion;
  readonly requestToken: RequestToken;
  readonly fingerprint: (token: string) => string;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

/** Tells the story of one token: authorize, memory, credential, token request, memory. */
export function createTokenBroker(dependencies: Dependencies): TokenBroker {
  const { services, authorize, readCredentialVersion, requestToken, fingerprint, now } = dependencies;
  const memory = new MemoryCache<Held>(MAX_PAIRS);
  const flights = new SingleFlight<Issue>();

  return {
    async issue(caller, request, deadline) {
      authorize(caller, 'token', request.pair);
      const service = services[request.pair.service];
      if (service === undefined) throw accessDenied();

      const key = pairKey(request.pair);
      const held = memory.get(key);
      if (held !== undefined && suits(held, request, now())) return { token: held.token, cache: 'memory' };

      const forced = held !== undefined && held.token.fingerprint === request.refused;
      return flights.run(key, async () => {
        const startedAt = now();
        const issue = await requestIssue(request.pair, service, startedAt, deadline);
        memory.set(key, successor(held, issue.token, forced, startedAt));
        return issue;
      });
    },
  };

  async function requestIssue(pair: Pair, service: Service, startedAt: number, deadline: number): Promise<Issue> {
    const current = await readCredentialVersion(pair.client, 'AWSCURRENT', -Infinity);
    const first = await send(pair, service, current, deadline);
    if (first !== 'rejected') return first;

    // The credential may have been replaced since it was read: only then is another request worth sending.
    const newer = await readCredentialVersion(pair.client, 'AWSCURRENT', startedAt);
    const second = newer.versionId === current.versionId ? 'rejected' : await send(pair, service, newer, deadline);
    if (second !== 'rejected') return second;
    throw new Problem(
      'credential-rejected',
      `The service ${pair.service} rejected the credential of ${pair.client} (secret version ${newer.versionId}). An operator must store the right one.`,
    );
  }

  async function send(pair: Pair, service: Service, version: SecretVersion, deadline: number) {
    const credential = parseCredential(version.text, pair.service);
    const { response, attempts, ...times } = await requestToken(service, credential, deadline);
    const reading = readTokenResponse(response, times, service);
    if (reading.outcome === 'problem') throw reading.problem;
    if (reading.outcome === 'rejected') return 'rejected';

    const { token } = reading;
    const named = { fingerprint: fingerprint(token.accessToken.reveal()), credentialVersion: version.versionId };
    return { token: { ...token, ...named }, cache: 'none', tokenRequestAttempts: attempts } satisfies Issue;
  }
}

/** What this environment remembers of a pair; times are epoch milliseconds. */
interface Held extends TokenLife {
  readonly token: IssuedToken;
  readonly attemptedAt: number;
  readonly forcedAt: number;
  /** The service gave the very same token although it had been refused: refusing it again changes nothing. */
  readonly refusalIsIdle: boolean;
}

const MAX_PAIRS = 1_000;
const FORCE_INTERVAL_MS = 30_000;
const MIN_TTL_INTERVAL_MS = 30_000;

/** Whether the caller is served from memory; throws `refused-again` when forcing another token would be too soon. */
function suits(held: Held, { refused, minTtlMs }: IssueRequest, now: number): boolean {
  if (!isIssuable(held, now)) return false;
  if (refused === held.token.fingerprint && !held.refusalIsIdle) {
    const waitMs = held.forcedAt + FORCE_INTERVAL_MS - now;
    if (waitMs <= 0) return false;
    throw new Problem('refused-again', 'This token replaced another refused one less than 30 seconds ago.', {
      retryAfterSeconds: Math.ceil(waitMs / 1_000),
    });
  }
  return !isBelowMinTtl(held, minTtlMs, now) || now - held.attemptedAt < MIN_TTL_INTERVAL_MS;
}

function successor(held: Held | undefined, token: IssuedToken, forced: boolean, attemptedAt: number): Held {
  return {
    token,
    expiresAt: token.expiresAt,
    lifetimeSeenMs: Math.max(held?.lifetimeSeenMs ?? 0, token.expiresAt - attemptedAt),
    attemptedAt,
    forcedAt: forced ? attemptedAt : (held?.forcedAt ?? -Infinity),
    refusalIsIdle: forced && held?.token.fingerprint === token.fingerprint,
  };
}
