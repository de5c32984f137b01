import type { Trace } from '../audit.ts';
import { parseCredential } from '../credential/credential.ts';
import type { SecretVersion } from '../credential/secret.ts';
import { isIssuable, refreshAt } from '../pair/freshness.ts';
import type { Pair } from '../pair/pair.ts';
import type { PairRecord, StoredToken } from '../pair/record.ts';
import type { Publication } from '../pair/store.ts';
import { Problem } from '../problem.ts';
import type { Service } from '../service.ts';
import { decodeBody } from '../token-response/body.ts';
import { readTokenResponse, type ServiceToken, type TokenResponse } from '../token-response/read.ts';
import { shapeOf } from '../token-response/shape.ts';
import { withoutCredential } from './strip-credential.ts';
import type { RequestToken } from './token-request.ts';

/** What one token request brought: something to publish, or the news that the service rejected the version. */
export type Renewal = Publication | 'rejected';

/** One token request for a pair, to be made by whoever holds its lease. */
interface RenewalOrder {
  readonly pair: Pair;
  readonly service: Service;
  readonly version: SecretVersion;
  /** The record under my lease. */
  readonly record: PairRecord;
  /** Replaces the record's token, which the service has refused. */
  readonly forced: boolean;
  /** Epoch milliseconds. */
  readonly deadline: number;
  readonly trace: Trace;
}

interface Dependencies {
  readonly requestToken: RequestToken;
  readonly fingerprint: (token: string) => string;
  /** From 0 to below 1. */
  readonly random: () => number;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

export type RenewToken = (order: RenewalOrder) => Promise<Renewal>;

/**
 * Sends the token request and reads what came back.
 *
 * @throws Problem whatever kept it from a token, except a rejection
 */
export function createTokenRenewer({ requestToken, fingerprint, random, now }: Dependencies): RenewToken {
  return async ({ pair, service, version, record, forced, deadline, trace }) => {
    const assumed = assumedLifetime(record, service, forced, now());
    const credential = parseCredential(version.text, pair.service);

    trace.tokenRequests += 1;
    const { response, ...times } = await requestToken(service, credential, deadline);

    const reading = readTokenResponse(response, times, { ...service, assumedLifetimeSeconds: assumed.ms / 1_000 });
    if (reading.outcome === 'problem') throw reading.problem;
    if (reading.outcome === 'rejected') {
      trace.warnings.add('rejected');
      return 'rejected';
    }

    const served = withoutCredential(reading.token, credential, service.basicEncoding);
    if (served === undefined) throw credentialAsToken(pair, response);
    const name = fingerprint(served.accessToken.reveal());
    const isSame = record.token?.fingerprint === name;
    if (isSame && forced) trace.warnings.add('same-token-again');
    const life = lifeOf(served, times.requestStartedAt, isSame ? record.lifetimeSeenMs : 0);
    if (!isIssuable(life, now())) throw tooShort(pair, life.expiresAt - now());
    const token: StoredToken = {
      ...served,
      fingerprint: name,
      credentialVersion: version.versionId,
      issuedAt: times.requestStartedAt,
      refreshAt: refreshAt(life, random()),
      refusalIsIdle: isSame && (forced || record.token?.refusalIsIdle === true),
    };
    return {
      token,
      lifetimeSeenMs: life.lifetimeSeenMs,
      earlyRefusals: assumed.earlyRefusals,
      assumedLifetimeMs: assumed.isOwn ? assumed.ms : 0,
    };
  };
}

/** A token that is handed out again keeps the longest life time seen of it: a shrinking rest is no shorter life. */
function lifeOf({ expiresAt }: ServiceToken, requestStartedAt: number, seenMs: number) {
  return { expiresAt, lifetimeSeenMs: Math.max(seenMs, expiresAt - requestStartedAt) };
}

/** Two refusals in the first half of an assumed life time show that too much was assumed. */
function assumedLifetime(record: PairRecord, service: Service, forced: boolean, now: number) {
  const settingMs = service.assumedLifetimeSeconds * 1_000;
  const currentMs = record.assumedLifetimeMs === 0 ? settingMs : Math.min(record.assumedLifetimeMs, settingMs);
  const { token } = record;
  const isEarly =
    forced && token?.expirySource === 'assumed' && now < token.issuedAt + (token.expiresAt - token.issuedAt) / 2;
  const earlyRefusals = record.earlyRefusals + (isEarly ? 1 : 0);
  const isHalved = earlyRefusals >= EARLY_REFUSALS && currentMs > MIN_ASSUMED_MS;
  const ms = isHalved ? Math.max(MIN_ASSUMED_MS, currentMs / 2) : currentMs;
  return { ms, isHalved, isOwn: ms < settingMs, earlyRefusals: isHalved ? 0 : Math.min(earlyRefusals, EARLY_REFUSALS) };
}

const EARLY_REFUSALS = 2;
const MIN_ASSUMED_MS = 30_000;

/** Whoever got this token would have the credential. */
function credentialAsToken({ client, service }: Pair, response: TokenResponse): Problem {
  const detail = `Where its token should be, the service ${service} repeats the credential of ${client}.`;
  return new Problem('token-response-unusable', detail, { shape: shapeOf(response, decodeBody(response)) });
}

/** The service hands out a token that nobody may receive any more; its successor comes when it has lapsed. */
function tooShort({ service }: Pair, restMs: number): Problem {
  const seconds = Math.max(1, Math.ceil(restMs / 1_000));
  return new Problem(
    'token-endpoint-unavailable',
    `The service ${service} handed out a token that ends in ${seconds} s, too soon to be issued.`,
    { retryAfterSeconds: seconds },
  );
}
