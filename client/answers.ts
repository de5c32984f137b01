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
  /** Seconds that the token should still live: a target; `expiresAt` has the outcome. */
  readonly minTtl?: number | undefined;
  /** The `fingerprint` of a token that the service turned away, to get its successor. */
  readonly refused?: string | undefined;
}

/** A token as the broker issued it. Only `accessToken` gives it away: texts, JSON, inspection and copies do not. */
export interface IssuedToken {
  readonly accessToken: string;
  readonly tokenType: string;
  /** Epoch milliseconds on this machine's clock: not later than the true end, however wrong this clock is. */
  readonly expiresAt: number;
  /** The same as the broker writes it, RFC 3339 on the broker's clock: equal in every answer about one token. */
  readonly expiresAtBroker?: string;
  /** Whether the broker had it already: then it does not prove that the service works now. */
  readonly isCached?: boolean;
  /** Who said how long the token lives: `response`, `jwt`, `configured` or `assumed`. */
  readonly expirySource: string;
  /** Names the token without giving it away: for logs, and for `refused`. */
  readonly fingerprint: string;
  readonly scope?: string | undefined;
  /** Further members of the service's answer that the broker is set to hand on. */
  readonly passThrough: Readonly<Record<string, unknown>>;
}

/** Asks the broker for a token of one client on one service. @throws TokenBrokerError */
export async function askForToken(
  connection: Connection,
  { client, service, minTtl, refused }: TokenRequest,
  limits: WorkLimits,
): Promise<IssuedToken> {
  const asked = { client, service, min_ttl: minTtl, refused };
  const { members, headers, startedAt } = await requestForPair(connection, '/token', asked, limits);
  assertForm(members, TOKEN);
  const { access_token, token_type, expires_in, expires_at, expiry_source, fingerprint, scope, ...others } = members;
  return issuedToken({
    accessToken: access_token,
    tokenType: token_type ?? 'Bearer',
    // Not `expires_at`: that is on the broker's clock, and only ours is asked later.
    expiresAt: startedAt + expires_in * 1000,
    expiresAtBroker: expires_at,
    isCached: / hit\b/.test(headers.get('cache-status') ?? ''),
    expirySource: expiry_source,
    fingerprint,
    ...(scope !== undefined && { scope }),
    passThrough: others,
  });
}

/** Makes a token; members that may be secret are hidden from code that prints or copies objects. */
function issuedToken({ accessToken, passThrough, expiresAtBroker, isCached, ...told }: IssuedToken): IssuedToken {
  const hidden = (value: unknown) => ({ value, enumerable: false });
  const shown = () => ({ accessToken: REDACTED, ...told });
  return Object.freeze(
    Object.defineProperties(
      { accessToken, passThrough, ...told },
      {
        accessToken: hidden(accessToken),
        // These may be as secret as the token: a refresh token, for example.
        passThrough: hidden(passThrough),
        expiresAtBroker: hidden(expiresAtBroker),
        isCached: hidden(isCached),
        toString: hidden(() => REDACTED),
        toJSON: hidden(shown),
        [Symbol.for('nodejs.util.inspect.custom')]: hidden(shown),
      },
    ),
  );
}

const REDACTED = '[redacted]';

export interface CheckParameters extends Pair {
  /** Which version of the credential: `AWSCURRENT` when left out. */
  readonly stage?: SecretStage | undefined;
}

/** The broker's finding about a credential. */
export interface Check extends Pair {
  readonly stage: SecretStage;
  readonly finding: Finding;
  /** The secret version that was looked at; absent when there is none. */
  readonly version?: string | undefined;
  /** Epoch milliseconds, on the broker's clock. */
  readonly checkedAt: number;
  readonly provenBy: ProvenBy;
  /** When the token that proves the credential ends: epoch milliseconds on this machine's clock. */
  readonly expiresAt?: number | undefined;
  /** When another check may find out more. */
  readonly retryAfterSeconds?: number | undefined;
}

/** Asks the broker whether the credential of one client works on one service. @throws TokenBrokerError */
export async function askForCheck(
  connection: Connection,
  { client, service, stage = 'AWSCURRENT' }: CheckParameters,
  limits: WorkLimits,
): Promise<Check> {
  const asked = { client, service, stage };
  const { members, headers, startedAt } = await requestForPair(connection, '/check', asked, limits);
  const retryAfterSeconds = readRetryAfter(headers);
  // A finding about another pair must not pass for this one's.
  assertForm(members, { ...CHECK, client: oneOf([client]), service: oneOf([service]), stage: oneOf([stage]) });
  const { finding, version, checked_at, proven_by, expires_in } = members;
  return {
    ...asked,
    finding,
    ...(version !== undefined && { version }),
    checkedAt: Date.parse(checked_at),
    provenBy: proven_by,
    ...(expires_in !== undefined && { expiresAt: startedAt + expires_in * 1000 }),
    ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
  };
}

/** Asks the broker which role signs, and what its access rules allow it. @throws TokenBrokerError */
export async function askForCaller(connection: Connection, limits: WorkLimits): Promise<Caller> {
  const { members } = await request(connection, '/whoami', {}, limits);
  assertForm(members, CALLER);
  const { role, account, rules, rules_digest: rulesDigest } = members;
  return { role, account, rules, ...(rulesDigest !== undefined && { rulesDigest }) };
}

/** As `request`; the error `access-denied` has the refused role and its access rules, too. */
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
    // The same credentials sign, because their role was refused; the time limit leaves room to report the refusal.
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

/** Asserts the form of an answer's members. @throws TokenBrokerError `unexpected-answer`, without its values */
function assertForm<F extends Form>(members: Members, form: F): asserts members is Members & Formed<F> {
  const wrong = Object.entries(form).find(([name, is]) => !is(members[name]))?.[0];
  if (wrong !== undefined) throw failure('unexpected-answer', `its ${wrong} is missing or wrong`, { status: 200 });
}

function text(pattern = /^/) {
  return (value: unknown): value is string => typeof value === 'string' && pattern.test(value);
}

function oneOf<T>(values: readonly T[]) {
  return (value: unknown): value is T => values.some((one) => one === value);
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

/** More than thirty years is a mistake, and could leave the range of dates. */
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
  version: optional(text(/^[\x21-\x7e]{1,64}$/)),
  checked_at: isDateTime,
  proven_by: oneOf(PROOFS),
  expires_in: optional(isLifetime),
};

const CALLER = {
  role: text(/^[!-~]+$/),
  account: text(),
  rules: listOf(isRule),
  rules_digest: optional(text(/^[0-9a-f]{16}$/)),
};
