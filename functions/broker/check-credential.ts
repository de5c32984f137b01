import type { Finding, ProvenBy, SecretStage } from '../contract.ts';
import { parseCredential } from './credential/credential.ts';
import { type SecretVersion, secretProblem } from './credential/secret.ts';
import type { createAcquireToken } from './pair/acquire-token.ts';
import { goneProblem } from './pair/choose-version.ts';
import { type Call, livingToken, type Step, type View } from './pair/decision.ts';
import { isLatched } from './pair/latch-and-pause.ts';
import { isTrial } from './pair/leased-request.ts';
import { holdKey, type PairRecord, type StoredToken, type Wait } from './pair/record.ts';
import type { Pair } from './pair.ts';
import { findingOfProblem, Problem } from './problem.ts';

/** What a caller asks for with `POST /check`. */
export interface CheckRequest {
  readonly pair: Pair;
  readonly stage: SecretStage;
}

/** What a check found; times are epoch milliseconds. */
export interface CheckResult {
  readonly finding: Finding;
  readonly version?: string | undefined;
  readonly checkedAt: number;
  readonly provenBy: ProvenBy;
  readonly expiresAt?: number | undefined;
  /** When another check may find out more, in whole seconds. */
  readonly retryAfterSeconds?: number | undefined;
}

interface Dependencies {
  readonly acquireToken: ReturnType<typeof createAcquireToken>;
  /** How long a token that traffic obtained proves its credential. */
  readonly provenForMs: number;
  readonly now: () => number;
}

/**
 * Finds out whether a version of a client's credential works, by the rules of every token request. The token of the
 * current version is published; a check that finds the secret gone withdraws the living one.
 *
 * @throws Problem only when the broker itself cannot say: `secrets-unavailable`, `token-endpoint-timeout`, …
 */
export function createCheckCredential({ acquireToken, provenForMs, now }: Dependencies) {
  return async (call: Call): Promise<CheckResult> => {
    const acquired = await acquireToken(call, (view) => decide(view, call, provenForMs, now()));
    if (acquired.kind === 'answer') return acquired.answer;
    if (acquired.kind === 'token') return accepted(acquired.token, 'request');
    const { problem, version } = acquired;
    const finding = findingOfProblem(problem.type, problem.shape) ?? 'unreachable';
    return { finding, version, checkedAt: now(), provenBy: 'request', retryAfterSeconds: problem.retryAfterSeconds };
  };
}

/** Decides one step of a check: what record and secret tell by themselves, or that only a token request can tell. */
function decide(view: View, call: Call, provenForMs: number, now: number): Step<CheckResult> {
  const { record, versions } = view;
  const answer = (result: CheckResult) => ({ kind: 'answer', answer: result }) as const;
  const reading = versions?.candidates[0];
  if (versions === undefined || reading === undefined) throw new TypeError('a check needs the secret');
  if (record.disabled) return answer({ finding: 'disabled', checkedAt: now, provenBy: 'operator' });

  const missing: CheckResult = { finding: 'secret-missing', checkedAt: now, provenBy: 'secret' };
  const gone = goneProblem(versions, call.pair);
  const isMissing = reading.outcome === 'missing' || reading.outcome === 'deleted';
  if (isMissing || gone?.type === 'credential-missing') {
    // Others may issue a token that cannot be opened here.
    const isServed = record.token === undefined ? record.closedUntil > 0 : record.token.expiresAt > now;
    // A version that is not in use says nothing of the token that is.
    if (isTrial(call) || !isServed) return answer(missing);
    return view.leaseIsOver ? { kind: 'withdraw', answer: missing } : { kind: 'wait' };
  }
  if (gone !== undefined) return { kind: 'fail', problem: gone };
  const malformed = { ...missing, finding: 'secret-malformed' } as const;
  if (reading.outcome === 'binary') return answer(malformed);
  if (reading.outcome !== 'found') {
    return { kind: 'fail', problem: secretProblem(reading, versions.name, versions.stage) };
  }
  const { versionId } = reading.secret;
  if (!isWellFormed(reading.secret, call)) return answer({ ...malformed, version: versionId });
  const token = livingToken(record, now);
  const isProven = token?.credentialVersion === versionId && now - token.issuedAt < provenForMs;
  // A new token would end the one that callers are using.
  if (token !== undefined && (isProven || call.service.singleActiveToken)) return answer(accepted(token, 'traffic'));
  const known = knownFinding(record, reading.secret, call, now);
  if (known !== undefined) return answer({ ...known, version: versionId });
  return view.leaseIsOver ? { kind: 'request', forced: false } : { kind: 'wait' };
}

/** What keeps this version from being sent. What is known of another version says nothing about it. */
function knownFinding(record: PairRecord, version: SecretVersion, call: Call, now: number): CheckResult | undefined {
  const { versionId } = version;
  const rejection = record.rejected.get(versionId);
  if (rejection !== undefined && isLatched(rejection, now)) {
    const provenBy = call.trace.tokenRequests > 0 ? 'request' : 'latch';
    return { finding: 'rejected', checkedAt: rejection.at, provenBy };
  }
  const hold = record.held.get(holdKey(versionId, call.settingsDigest));
  if (hold !== undefined && now < hold.until) return waited(hold, now);
  const throttled = isTrial(call) ? trialBudget(record, version, now) : undefined;
  if (throttled !== undefined) return throttled;
  const { pause } = record;
  return pause !== undefined && now < pause.until ? waited(pause, now) : undefined;
}

/** AWSPENDING and AWSPREVIOUS share one request in 30 s, but a new AWSPENDING version does not wait for its first one. */
function trialBudget(record: PairRecord, { versionId, stage }: SecretVersion, now: number): CheckResult | undefined {
  const { checked } = record;
  const isRecent = checked !== undefined && now - checked.at < TRIAL_INTERVAL_MS;
  if (isRecent && checked.version === versionId) {
    return { finding: checked.finding, checkedAt: checked.at, provenBy: 'request' };
  }
  const isDue = !isRecent || stage === 'AWSPENDING';
  const freeAt = stage === 'AWSPENDING' ? pendingFreeAt(record, now) : 0;
  if (isDue && freeAt <= now) return undefined;
  const until = Math.max(freeAt, isDue || checked === undefined ? 0 : checked.at + TRIAL_INTERVAL_MS);
  const retryAfterSeconds = Math.max(1, Math.ceil((until - now) / 1_000));
  return { finding: 'throttled', checkedAt: now, provenBy: 'latch', retryAfterSeconds };
}

/** When fewer rejected requests than allowed lie within the last hour, of any version: guessing must not lock a client out. */
function pendingFreeAt({ rejected }: PairRecord, now: number): number {
  const recent = [...rejected.values()].filter(({ at }) => now - at < PENDING_WINDOW_MS);
  const count = recent.reduce((sum, latch) => sum + latch.count, 0);
  return count < MAX_PENDING_REJECTIONS ? 0 : Math.min(...recent.map(({ at }) => at)) + PENDING_WINDOW_MS;
}

function waited({ problem, until }: Wait, now: number) {
  const finding = findingOfProblem(problem.type, problem.shape) ?? 'unreachable';
  return { finding, checkedAt: now, provenBy: 'pause', retryAfterSeconds: Math.ceil((until - now) / 1_000) } as const;
}

function isWellFormed(version: SecretVersion, { pair, service, isOnlyService }: Call): boolean {
  try {
    parseCredential(version.text, pair.service, { basicEncoding: service.basicEncoding, isOnlyService });
    return true;
  } catch (error) {
    if (error instanceof Problem) return false;
    throw error;
  }
}

function accepted({ credentialVersion, issuedAt, expiresAt }: StoredToken, provenBy: ProvenBy): CheckResult {
  return { finding: 'accepted', version: credentialVersion, checkedAt: issuedAt, provenBy, expiresAt };
}

const TRIAL_INTERVAL_MS = 30_000;
const MAX_PENDING_REJECTIONS = 3;
const PENDING_WINDOW_MS = 60 * 60_000;
