import type { Members } from '../functions/broker/json.ts';
import { FINDINGS, type Finding, PROOFS, type ProvenBy, type SecretStage } from '../functions/vocabulary.ts';
import { type Caller, type CallerRule, ruleText } from './caller.ts';
import { failure, isProblem, TokenBrokerError } from './error.ts';
import { type Connection, readRetryAfter, request } from './request.ts';
import type { WorkLimits } from './single-flight.ts';

interface Pair {
  readonly client: string;
  readonly service: string;
}

export interface TokenRequest extends Pair {
  /** Seconds that the token should live at least. This is a target: `expiresAt` contains the outcome. */
  readonly minTtl?: number | undefined;
  /** The `fingerprint` of a token that the service refused. Requests its successor. */
  readonly refused?: string | undefined;
}

/** A token as the broker issued it. Only `accessToken` reveals it: text, JSON, inspection and copies do not. */
export interface IssuedToken {
  readonly accessToken: string;
  readonly tokenType: string;
  /** Epoch milliseconds on this machine's clock. Never later than the true end, even if this clock is wrong. */
  readonly expiresAt: number;
  /** The broker's own value, RFC 3339 on the broker's clock. Equal in all answers about the same token. */
  readonly expiresAtBroker?: string;
  /** Whether the broker had cached the token. A cached token does not prove that the service works now. */
  readonly isCached?: boolean;
  /** The source of the lifetime: `response`, `jwt`, `configured` or `assumed`. */
  readonly expirySource: string;
  /** Identifies the token without revealing it, in logs and in `refused`. */
  readonly fingerprint: string;
  readonly scope?: string | undefined;
  /** Further members of the service's answer that the broker is configured to pass on. */
  readonly passThrough: Readonly<Record<string, unknown>>;
}

/** Asks the broker for a client's token on a service. @throws TokenBrokerError */
export async function askForToken(
  connection: Connection,
  { client, service, minTtl, refused }: TokenRequest,
  limits: WorkLimits,
): Promise<IssuedToken> {
  const asked = { client, service, min_ttl: minTtl, refused };
  const { members, headers, startedAt } = await requestForPair(connection, '/token', asked, limits);
  assertForm(members, TOKEN);
  const { access_token, token_type, expires_in, expires_at, expiry_source, fingerprint, scope, ...others } = members;
  const shown = {
    tokenType: token_type ?? 'Bearer',
    // `expires_at` is on the broker's clock. Later comparisons use this machine's clock.
    expiresAt: startedAt + expires_in * 1000,
    expirySource: expiry_source,
    fingerprint,
    ...(scope !== undefined && { scope }),
  };
  const redacted = () => ({ accessToken: REDACTED, ...shown });
  const hidden = {
    accessToken: access_token,
    // A member may be as secret as the token, for example a refresh token.
    passThrough: others,
    expiresAtBroker: expires_at,
    isCached: / hit\b/.test(headers.get('cache-status') ?? ''),
    toString: () => REDACTED,
    toJSON: redacted,
    [Symbol.for('nodejs.util.inspect.custom')]: redacted,
  };
  const token = { ...shown, ...hidden };
  // Code that prints or copies objects does not see these members.
  for (const name of Reflect.ownKeys(hidden)) Object.defineProperty(token, name, { enumerable: false });
  return Object.freeze(token);
}

const REDACTED = '[redacted]';

export interface CheckParameters extends Pair {
  /** The version of the credential. Default: `AWSCURRENT`. */
  readonly stage?: SecretStage | undefined;
}

/** The broker's finding about a credential. */
export interface Check extends Pair {
  readonly stage: SecretStage;
  readonly finding: Finding;
  /** Why the finding is `secret-malformed`. Absent from a broker of an earlier release. */
  readonly detail?: string | undefined;
  /** The cause of the finding `throttled`. Absent from a broker of an earlier release. */
  readonly cause?: string | undefined;
  /** The secret version that was checked. Absent when no version exists. */
  readonly version?: string | undefined;
  /** Epoch milliseconds on the broker's clock. */
  readonly checkedAt: number;
  readonly provenBy: ProvenBy;
  /** The expiry of the token that proves the credential: epoch milliseconds on this machine's clock. */
  readonly expiresAt?: number | undefined;
  /** When the issuer ends the credential: RFC 3339, `never` or `malformed`. Absent if no secret was read. */
  readonly credentialExpiresAt?: string | undefined;
  /** The wait before another check may find more. */
  readonly retryAfterSeconds?: number | undefined;
}

/** Asks the broker whether a client's credential works on a service. @throws TokenBrokerError */
export async function askForCheck(
  connection: Connection,
  { client, service, stage = 'AWSCURRENT' }: CheckParameters,
  limits: WorkLimits,
): Promise<Check> {
  const asked = { client, service, stage };
  const { members, headers, startedAt } = await requestForPair(connection, '/check', asked, limits);
  const retryAfterSeconds = readRetryAfter(headers);
  // A finding about another pair must not pass for a finding about this pair.
  assertForm(members, { ...CHECK, client: oneOf([client]), service: oneOf([service]), stage: oneOf([stage]) });
  const { finding, detail, cause, version, checked_at, proven_by, expires_in, credential_expires_at } = members;
  return {
    ...asked,
    finding,
    ...(detail !== undefined && { detail }),
    ...(cause !== undefined && { cause }),
    ...(version !== undefined && { version }),
    checkedAt: Date.parse(checked_at),
    provenBy: proven_by,
    ...(expires_in !== undefined && { expiresAt: startedAt + expires_in * 1000 }),
    ...(credential_expires_at !== undefined && { credentialExpiresAt: credential_expires_at }),
    ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
  };
}

/** Asks the broker which role signs, and what its access rules allow. @throws TokenBrokerError */
export async function askForCaller(connection: Connection, limits: WorkLimits): Promise<Caller> {
  const { members } = await request(connection, '/whoami', {}, limits);
  assertForm(members, CALLER);
  const { role, account, rules, rules_digest: rulesDigest } = members;
  return { role, account, rules, ...(rulesDigest !== undefined && { rulesDigest }) };
}

/** Sends a request like `request`. Adds the refused role and its access rules to the error `access-denied`. */
async function requestForPair(connection: Connection, path: string, asked: object, limits: WorkLimits) {
  let reading: ReturnType<Connection['credentials']> | undefined;
  const credentials = () => {
    reading ??= connection.credentials();
    return reading;
  };
  try {
    return await request({ ...connection, credentials }, path, asked, limits);
  } catch (error) {
    if (!isProblem(error, 'access-denied')) throw error;
    // Signs with the same credentials, whose role was refused. The limit leaves time to report the refusal.
    const timeoutMs = Math.min(connection.timeoutMs, 3_000, (limits.deadline() - connection.now()) / 2);
    const signing = { ...connection, credentials, maxAttempts: 1, timeoutMs };
    const caller = await askForCaller(signing, limits).catch(() => undefined);
    if (caller === undefined) throw error;
    const rules = caller.rules.map(ruleText).join('; ');
    const may = rules === '' ? 'no access rule names it' : `its access rules allow ${rules}`;
    throw new TokenBrokerError(error.type, `${error.detail} Your role is ${caller.role}; ${may}`, { ...error, caller });
  }
}

type Is<T> = (value: unknown) => value is T;
type Form = Readonly<Record<string, Is<unknown>>>;
type Formed<F extends Form> = { readonly [Name in keyof F]: F[Name] extends Is<infer T> ? T : never };

/** Asserts the form of an answer's members. @throws TokenBrokerError `unexpected-answer`, without values */
function assertForm<F extends Form>(members: Members, form: F): asserts members is Members & Formed<F> {
  const wrong = Object.entries(form).find(([name, is]) => !is(members[name]))?.[0];
  if (wrong !== undefined) throw failure('unexpected-answer', `its ${wrong} is missing or wrong`, { status: 200 });
}

function text(pattern = /^/) {
  return (value: unknown): value is string => typeof value === 'string' && pattern.test(value);
}

function oneOf<T>(values: readonly T[]) {
  return (value: unknown): value is T => values.some((known) => known === value);
}

function optional<T>(is: Is<T>) {
  return (value: unknown): value is T | undefined => value === undefined || is(value);
}

function listOf<T>(is: Is<T>) {
  return (value: unknown): value is readonly T[] => Array.isArray(value) && value.every(is);
}

function isDateTime(value: unknown): value is string {
  return typeof value === 'string' && !Number.isNaN(Date.parse(value));
}

/** Rejects more than thirty years: a mistake, and possibly out of the range of dates. */
function isLifetime(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= 1_000_000_000;
}

function isRule(value: unknown): value is CallerRule {
  const { clients, services, operations }: Members = Object(value);
  const isNames = listOf(text(/^[!-~]+$/));
  return [clients, services].every((names) => names === 'all' || isNames(names)) && isNames(operations);
}

const TOKEN = {
  access_token: text(/^[\x20-\x7e]+$/),
  token_type: optional(text(/./)),
  expires_in: isLifetime,
  expires_at: isDateTime,
  expiry_source: text(),
  fingerprint: text(/^[0-9a-f]{16}$/),
  scope: optional(text()),
};

const CHECK = {
  finding: oneOf(FINDINGS),
  detail: optional(text()),
  cause: optional(text(/^[a-z-]{1,64}$/)),
  version: optional(text(/^[\x21-\x7e]{1,64}$/)),
  checked_at: isDateTime,
  proven_by: oneOf(PROOFS),
  expires_in: optional(isLifetime),
  credential_expires_at: optional(text(/^[\w:.-]{1,64}$/)),
};

const CALLER = {
  role: text(/^[!-~]+$/),
  account: text(),
  rules: listOf(isRule),
  rules_digest: optional(text(/^[0-9a-f]{16}$/)),
};
