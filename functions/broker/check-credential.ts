import type { CheckCause, Finding, ProvenBy, SecretStage } from '../vocabulary.ts';
import { credentialExpiry, parseCredential } from './credential/credential.ts';
import { type SecretVersion, secretProblem } from './credential/secret.ts';
import { acquireToken, type Dependencies } from './pair/acquire-token.ts';
import { type Call, isTrial } from './pair/call.ts';
import { goneProblem } from './pair/choose-version.ts';
import type { Step, View } from './pair/decision.ts';
import { NOT_ACCEPTED } from './pair/outcome.ts';
import { holdKey, isIssuable, isLatched, type PairRecord, type VisibleToken, type Wait } from './pair/record.ts';
import type { Pair } from './pair.ts';
import { findingOfProblem, Problem } from './problem.ts';

/** The request of `POST /check`. */
export interface CheckRequest {
  readonly pair: Pair;
  readonly stage: SecretStage;
}

/** The result of a check. Times are epoch milliseconds. */
export interface CheckResult {
  readonly finding: Finding;
  readonly version?: string | undefined;
  readonly checkedAt: number;
  readonly provenBy: ProvenBy;
  /** Why the secret is malformed, as callers see it. */
  readonly detail?: string | undefined;
  readonly cause?: CheckCause | undefined;
  readonly expiresAt?: number | undefined;
  /** As from `credentialExpiry`. Absent if the secret was not read, or if the finding is about another version. */
  readonly credentialExpiry?: string | undefined;
  /** Whole seconds until another check may find out more. */
  readonly retryAfterSeconds?: number | undefined;
}

/**
 * Checks whether a version of a client's credential works, by the rules of every token request. Publishes the token of
 * the current version. Withdraws the living token when the secret is gone.
 *
 * @param provenForMs the time for which a token that traffic obtained proves its credential
 * @throws Problem only when the broker itself cannot answer: `secrets-unavailable`, `token-endpoint-timeout`, …
 */
export async function checkCredential(
  dependencies: Dependencies,
  call: Call,
  provenForMs: number,
): Promise<CheckResult> {
  const { now } = dependencies;
  const acquired = await acquireToken(dependencies, call, (view) => decideCheck(view, call, provenForMs, now()));
  if (acquired.kind === 'answer') return acquired.answer;
  const { version } = acquired;
  if (acquired.kind === 'token') {
    const cause = call.trace.warnings.has('lifetime-cut') ? 'lifetime-cut' : undefined;
    return withExpiry({ ...accepted(acquired.token, 'request'), cause }, version, call);
  }
  const { retryAfterSeconds } = acquired.problem;
  const found = { ...withCause(acquired.problem), version: version.versionId, checkedAt: now(), retryAfterSeconds };
  return withExpiry({ ...found, provenBy: 'request' }, version, call);
}

/** Decides one step of a check. Sends a token request only when the record and the secret do not answer. */
function decideCheck(view: View, call: Call, provenForMs: number, now: number): Step<CheckResult> {
  const { record } = view;
  if (record.disabled) return answer({ finding: 'disabled', checkedAt: now, provenBy: 'operator' });
  const credential = credentialOf(view, call, now);
  if ('kind' in credential) return credential;
  const known = knownFinding(record, credential, call, provenForMs, now) ?? whatWaits(record, credential, call, now);
  if (known !== undefined) return answer(withExpiry(known, credential, call));
  return view.leaseIsOver ? { kind: 'request', forced: false } : { kind: 'wait' };
}

/** Adds the expiry of the version that the result is about. */
function withExpiry(result: CheckResult, { versionId, text }: SecretVersion, { pair }: Call): CheckResult {
  const isSame = result.version === versionId;
  return { ...result, credentialExpiry: isSame ? credentialExpiry(text, pair.service) : undefined };
}

function answer(result: CheckResult) {
  return { kind: 'answer', answer: result } as const;
}

/** Returns the credential, or the step for its absence. A secret that is gone withdraws the living token. */
function credentialOf(view: View, call: Call, now: number): SecretVersion | Step<CheckResult> {
  const { record, versions, leaseIsOver } = view;
  const reading = versions?.candidates[0];
  if (versions === undefined || reading === undefined) throw new TypeError('a check needs the secret');
  const missing: CheckResult = { finding: 'secret-missing', checkedAt: now, provenBy: 'secret' };
  const gone = goneProblem(versions, call.pair);
  if (reading.outcome === 'missing' || reading.outcome === 'deleted' || gone?.type === 'credential-missing') {
    // A trial says nothing about the token in use. A token that cannot be opened here may serve other instances.
    const isServed = record.token !== undefined && record.token.expiresAt > now;
    if (isTrial(call) || !isServed) return answer(missing);
    return leaseIsOver ? { kind: 'withdraw', answer: missing } : { kind: 'wait' };
  }
  if (gone?.type === 'client-disabled') return answer({ ...missing, finding: 'disabled', provenBy: 'operator' });
  if (gone !== undefined) throw gone;
  const malformed = { ...missing, finding: 'secret-malformed' } as const;
  if (reading.outcome !== 'found') {
    const problem = secretProblem(reading, versions.name, versions.stage);
    if (reading.outcome !== 'binary') throw problem;
    return answer({ ...malformed, detail: problem.detail });
  }
  const { secret } = reading;
  const detail = faultOf(secret, call);
  if (detail === undefined) return secret;
  return answer(withExpiry({ ...malformed, detail, version: secret.versionId }, secret, call));
}

/** Returns the finding that a token of traffic or a latch proves. Other versions prove nothing about this version. */
function knownFinding(
  record: PairRecord,
  { versionId }: SecretVersion,
  call: Call,
  provenForMs: number,
  now: number,
): CheckResult | undefined {
  const { token } = record;
  if (token !== undefined && isIssuable(token, now)) {
    const { singleActiveToken } = call.service;
    const isItsOwn = token.credentialVersion === versionId;
    // A new token would invalidate the token that callers use.
    const isProof =
      (isItsOwn && now - token.issuedAt < provenForMs) || (singleActiveToken && (isItsOwn || !isTrial(call)));
    if (isProof) return accepted(token, 'traffic');
    if (singleActiveToken) return throttled(versionId, 'single-active-token', token.expiresAt, now);
  }
  const rejection = record.rejected.get(versionId);
  if (rejection === undefined || !isLatched(rejection, now)) return undefined;
  const provenBy = call.trace.tokenRequests > 0 ? 'request' : 'latch';
  return { finding: 'rejected', version: versionId, checkedAt: rejection.at, provenBy };
}

/** Returns the finding while a hold, the budget of trials or a pause forbids a token request. */
function whatWaits(record: PairRecord, version: SecretVersion, call: Call, now: number): CheckResult | undefined {
  const { versionId } = version;
  const hold = record.held.get(holdKey(versionId, call.settingsDigest));
  if (hold !== undefined && now < hold.until) return waited(hold, versionId, now);
  const budget = isTrial(call) ? trialBudget(record, version, now) : undefined;
  if (budget !== undefined) return budget;
  return record.pause !== undefined && now < record.pause.until ? waited(record.pause, versionId, now) : undefined;
}

/** Allows AWSPENDING and AWSPREVIOUS one request in 30 s together. Repeats a finding only for its own version. */
function trialBudget(record: PairRecord, { versionId, stage }: SecretVersion, now: number): CheckResult | undefined {
  const { checked } = record;
  const slotFreeAt = checked === undefined ? 0 : checked.at + TRIAL_INTERVAL_MS;
  if (checked?.version === versionId && now < slotFreeAt) {
    const { at: checkedAt, finding } = checked;
    return { finding, ...ofService(finding), version: versionId, checkedAt, provenBy: 'request' };
  }
  const pendingAt = stage === 'AWSPENDING' ? pendingFreeAt(record, now) : 0;
  const cause = pendingAt > slotFreeAt ? 'rejected-versions' : 'another-version';
  const freeAt = Math.max(slotFreeAt, pendingAt);
  return freeAt <= now ? undefined : throttled(versionId, cause, freeAt, now);
}

/** Returns when the last hour, over all versions, has room for a rejection. Guessing must not lock a client out. */
function pendingFreeAt({ rejected }: PairRecord, now: number): number {
  const recent = [...rejected.values()].filter(({ at }) => now - at < PENDING_WINDOW_MS);
  const count = recent.reduce((sum, latch) => sum + latch.count, 0);
  return count < MAX_PENDING_REJECTIONS ? 0 : Math.min(...recent.map(({ at }) => at)) + PENDING_WINDOW_MS;
}

function throttled(version: string, cause: CheckCause, until: number, now: number): CheckResult {
  const retryAfterSeconds = Math.max(1, Math.ceil((until - now) / 1_000));
  return { finding: 'throttled', cause, version, checkedAt: now, provenBy: 'latch', retryAfterSeconds };
}

function waited({ problem, until }: Wait, version: string, now: number): CheckResult {
  const retryAfterSeconds = Math.ceil((until - now) / 1_000);
  return { ...withCause(problem), version, checkedAt: now, provenBy: 'pause', retryAfterSeconds };
}

/** Returns the finding of a problem. Only the service throttles by a problem. */
function withCause(problem: Wait['problem']): Pick<CheckResult, 'finding' | 'cause'> {
  const finding = findingOfProblem(problem);
  if (problem.detail === NOT_ACCEPTED) return { finding, cause: 'not-accepted' };
  return { finding, ...ofService(finding) };
}

function ofService(finding: Finding): Pick<CheckResult, 'cause'> {
  return finding === 'throttled' ? { cause: 'service' } : {};
}

/** Returns why the credential cannot be sent, without its content, or `undefined`. */
function faultOf(version: SecretVersion, { pair, service, isOnlyService }: Call): string | undefined {
  try {
    parseCredential(version.text, pair.service, { ...service, isOnlyService });
    return undefined;
  } catch (error) {
    if (error instanceof Problem) return error.detail;
    throw error;
  }
}

function accepted({ credentialVersion, issuedAt, expiresAt }: VisibleToken, provenBy: ProvenBy): CheckResult {
  return { finding: 'accepted', version: credentialVersion, checkedAt: issuedAt, provenBy, expiresAt };
}

const TRIAL_INTERVAL_MS = 30_000;
const MAX_PENDING_REJECTIONS = 3;
const PENDING_WINDOW_MS = 60 * 60_000;
