import { type Finding, type ProvenBy, secretName } from '../contract.ts';
import { basicAuthorization } from './credential/basic-authorization.ts';
import { parseCredential } from './credential/credential.ts';
import { type SecretVersion, secretProblem } from './credential/secret.ts';
import type { CredentialReading, Credentials } from './credential/secret-cache.ts';
import type { CheckRequest } from './http/request.ts';
import type { Call } from './pair/call.ts';
import { isIssuable } from './pair/freshness.ts';
import type { Goal, Move, Pursue, Round } from './pair/goal.ts';
import { isLatched } from './pair/latch.ts';
import { pairKey } from './pair/pair.ts';
import type { PairRecord, StoredToken } from './pair/record.ts';
import { findingOfProblem, Problem } from './problem.ts';
import { SingleFlight } from './single-flight.ts';

/** What a check found; times are epoch milliseconds. */
export interface CheckResult {
  readonly finding: Finding;
  /** The secret version that was looked at; absent when there is none. */
  readonly version?: string | undefined;
  readonly checkedAt: number;
  readonly provenBy: ProvenBy;
  /** When the token that proves the credential ends. */
  readonly expiresAt?: number | undefined;
  /** Whole seconds after which another check can find out more. */
  readonly retryAfterSeconds?: number | undefined;
}

interface Dependencies {
  /** Part of the names of secrets. */
  readonly environment: string;
  readonly credentials: Credentials;
  readonly pursue: Pursue;
  /** How long a token that traffic obtained proves its credential. */
  readonly provenForMs: number;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

/**
 * Finds out whether a version of a client's credential works, by the same rules as any token request: the latch, the
 * pause and the lease hold, and the token of the current version is published, so that a check keeps the cache warm.
 *
 * @throws Problem only when the broker itself cannot say: `secrets-unavailable`, `token-endpoint-timeout`, …
 */
export function createChecker({ environment, credentials, pursue, provenForMs, now }: Dependencies) {
  const flights = new SingleFlight<CheckResult>();

  return (call: Call, { pair, stage }: CheckRequest): Promise<CheckResult> =>
    flights.run(`${pairKey(pair)} ${stage}`, () => check(call, stage));

  async function check(call: Call, stage: CheckRequest['stage']): Promise<CheckResult> {
    try {
      return await pursue(call, goal(call, stage), call.startedAt);
    } catch (error) {
      const finding = error instanceof Problem ? findingOfProblem(error.type, error.shape) : undefined;
      const isOfService = finding !== undefined && call.trace.tokenRequests > 0;
      if (!isOfService) throw error;
      return { finding, checkedAt: now(), provenBy: 'request' };
    }
  }

  function goal(call: Call, stage: CheckRequest['stage']): Goal<CheckResult, CredentialReading> {
    const { deadline } = call;
    const read = (readSince: number) => credentials.read(call.pair.client, stage, { readSince, deadline });
    const look = async (round: Round<CredentialReading>): Promise<Move<CheckResult>> => {
      const known = findingWithoutRequest(call, stage, round);
      if ('finding' in known) return { kind: 'done', result: known };
      if (!round.leaseIsOver) return { kind: 'wait' };
      return {
        kind: 'lease',
        version: known,
        forced: false,
        patienceMs: call.service.requestTimeoutMs,
        publishes: stage === 'AWSCURRENT',
        async confirm(record) {
          const again = await look({ ...round, record, prepared: await read(call.startedAt), leaseIsOver: true });
          return again.kind === 'lease' ? again.version : undefined;
        },
        onToken: (token) => accepted(token, 'request'),
      };
    };
    return { prepare: read, look };
  }

  /** What the record and the secret tell by themselves, or the version that only a token request can tell of. */
  function findingWithoutRequest(
    call: Call,
    stage: CheckRequest['stage'],
    { record, prepared }: Round<CredentialReading>,
  ): CheckResult | SecretVersion {
    const time = now();
    if (record.disabled) return { finding: 'disabled', checkedAt: time, provenBy: 'operator' };
    if (!('secret' in prepared)) {
      return { finding: secretFinding(call, stage, prepared), checkedAt: time, provenBy: 'secret' };
    }
    if (prepared.outcome === 'stale') call.trace.warnings.add('secret-stale');
    // What is known of another version says nothing about this one; while Secrets Manager is down it is the last one known.
    const version = prepared.secret;
    const { versionId } = version;
    if (!isWellFormed(call, version)) {
      return { finding: 'secret-malformed', version: versionId, checkedAt: time, provenBy: 'secret' };
    }

    const { token } = record;
    const isLiving = token !== undefined && isIssuable({ ...token, lifetimeSeenMs: record.lifetimeSeenMs }, time);
    const isSingle = call.service.singleActiveToken;
    if (isLiving && token.credentialVersion === versionId && (isSingle || time - token.issuedAt < provenForMs)) {
      return accepted(token, 'traffic');
    }

    const rejection = record.rejected.get(versionId);
    if (rejection !== undefined && isLatched(rejection, time)) {
      const provenBy = call.trace.tokenRequests > 0 ? 'request' : 'latch';
      return { finding: 'rejected', version: versionId, checkedAt: rejection.at, provenBy };
    }
    if (stage === 'AWSPENDING' && recentRejections(record, time) >= MAX_PENDING_REJECTIONS) {
      return { finding: 'throttled', version: versionId, checkedAt: time, provenBy: 'latch' };
    }
    if (record.pause !== undefined && time < record.pause.until) {
      const { type, shape } = record.pause.problem;
      const finding = findingOfProblem(type, shape) ?? 'unreachable';
      return { finding, version: versionId, checkedAt: record.attemptedAt, provenBy: 'pause' };
    }
    if (isLiving && isSingle) throw wouldEndToken(token, time);
    return version;
  }

  function secretFinding(call: Call, stage: CheckRequest['stage'], reading: NoSecret): Finding {
    if (reading.outcome === 'missing' || reading.outcome === 'deleted') return 'secret-missing';
    if (reading.outcome === 'binary') return 'secret-malformed';
    throw secretProblem(reading, secretName(environment, call.pair.client), stage);
  }
}

type NoSecret = Exclude<CredentialReading, { readonly secret: SecretVersion }>;

function isWellFormed({ pair, service }: Call, version: SecretVersion): boolean {
  try {
    basicAuthorization(parseCredential(version.text, pair.service), service.basicEncoding);
    return true;
  } catch (error) {
    if (error instanceof Problem) return false;
    throw error;
  }
}

function accepted({ credentialVersion, issuedAt, expiresAt }: StoredToken, provenBy: ProvenBy): CheckResult {
  return { finding: 'accepted', version: credentialVersion, checkedAt: issuedAt, provenBy, expiresAt };
}

/** Rejected requests of the last hour, of whatever version: an operator who guesses must not lock the client out. */
function recentRejections({ rejected }: PairRecord, now: number): number {
  const recent = [...rejected.values()].filter(({ at }) => now - at < PENDING_WINDOW_MS);
  return recent.reduce((sum, { count }) => sum + count, 0);
}

/** A new token would end the one that callers are using (`singleActiveToken`). */
function wouldEndToken({ expiresAt }: StoredToken, now: number): Problem {
  return new Problem('token-endpoint-unavailable', 'A check now would end the token that is in use.', {
    retryAfterSeconds: Math.min(300, Math.ceil((expiresAt - now) / 1_000)),
  });
}

const MAX_PENDING_REJECTIONS = 3;
const PENDING_WINDOW_MS = 60 * 60_000;
