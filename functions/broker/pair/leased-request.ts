import type { SecretCache } from '../credential/secret.ts';
import { findingOfProblem, Problem } from '../problem.ts';
import { type Call, isTrial } from './call.ts';
import { chooseVersion, readVersions, type UsableVersion } from './choose-version.ts';
import { lastWriteEnd, leaseMs, MIN_REQUEST_MS, requestEnd, writeEnd } from './deadlines.ts';
import type { RequestStep, View } from './decision.ts';
import { isIssuable } from './freshness.ts';
import { waitAfter, waitProblem } from './latch-and-pause.ts';
import type { PairMemory } from './memory.ts';
import { type CheckedVersion, foreignToken, isProven, type PairRecord, type StoredToken } from './record.ts';
import type { Renewal, RenewToken } from './renew-token.ts';
import { type PairStore, type Seen, whenAvailable } from './store.ts';
import { leased, type Outcome, settled } from './transitions.ts';

/** Times are epoch milliseconds. */
export interface LeaseDependencies {
  readonly environment: string;
  readonly store: PairStore;
  readonly memory: PairMemory;
  readonly secrets: SecretCache;
  readonly renewToken: RenewToken;
  readonly uniqueId: () => string;
  readonly now: () => number;
}

/** One lease that a call has asked for; without the table one that it gave itself. */
export interface Attempt {
  readonly lease: { readonly id: string; readonly until: number };
  readonly step: RequestStep<unknown>;
  readonly usable: UsableVersion;
  /** The record before the lease. */
  readonly record: PairRecord;
  readonly isAlone: boolean;
}

export interface Attempts {
  /** By the ids of leases. A write that went unanswered may still arrive, so each is kept; `undefined` once it is used. */
  readonly asked: Map<string, Attempt | undefined>;
  /** The versions that the call has sent: it sends none twice. */
  readonly sent: Set<string>;
}

export type AttemptOutcome =
  | { readonly kind: 'token'; readonly token: StoredToken }
  /** The version was sent in vain; all instances answer with the problem for a while. */
  | { readonly kind: 'failed'; readonly problem: Problem; readonly version: string }
  /** The service rejected the version; it is latched. */
  | { readonly kind: 'rejected' }
  /** Another write came first, or the time is too short. */
  | { readonly kind: 'lost' }
  /** The store did not say whether the lease was taken. */
  | { readonly kind: 'unanswered' };

/** Takes the lease for one version, makes the one token request that it allows, and settles the outcome. */
export function createLeasedRequest(dependencies: LeaseDependencies) {
  const { store, memory, renewToken, uniqueId, now } = dependencies;

  return { attempt, send, replace };

  /** `readSince`: from when on the secret counts. @throws Problem why no version may be sent */
  async function attempt(
    call: Call,
    view: View,
    step: RequestStep<unknown>,
    readSince: number,
    attempts: Attempts,
  ): Promise<AttemptOutcome> {
    const { seen, record, at } = view;
    // A secret that there is no time to read is not Secrets Manager's failure.
    const isTooLate = () => call.deadline - now() < MIN_REQUEST_MS;
    if (isTooLate()) return LOST;
    const choose = async (since: number) => {
      const versions = await readVersions(dependencies, call, record, attempts.sent, since);
      return chooseVersion(call, versions, record, attempts.sent, now());
    };
    // A latch or a hold is told by the secret of the last minutes; the version that is sent was read after the look.
    if (readSince < at) await choose(readSince);
    const usable = await choose(at);
    if (isTooLate()) return LOST;

    const { versionId: version } = usable.version;
    const lease = { id: uniqueId(), until: now() + leaseMs(call.service) };
    const use = { version, forced: isForced(step), isCheck: call.stage !== undefined };
    // Beside a token that must stay, a proven version needs no lease; any other does, or a fleet locks the account. A trial
    // does too: the table has the budget of trials.
    const isFree = seen !== undefined && !isTrial(call) && isProven(seen.record, version);
    const isAlone = seen === undefined || (isFree && foreignToken(seen.record, now()) !== undefined);
    const before = isAlone ? record : seen.record;
    const next = leased(before, lease, use, now());
    const asked = { lease, step, usable, record: before, isAlone };
    if (isAlone) return send(call, { record: next, tag: undefined }, asked, attempts);
    if (!view.leaseIsOver) return LOST;
    attempts.asked.set(lease.id, asked);
    const taken = await replace(call, seen, next, call.deadline);
    if (taken === 'unavailable') return { kind: 'unanswered' };
    return taken === undefined ? LOST : send(call, taken, asked, attempts);
  }

  /** Uses a lease of this call. A defect from here on leaves it: it runs out, so the fleet makes one request per lease. */
  async function send(call: Call, seen: Seen, attempted: Attempt, { asked, sent }: Attempts): Promise<AttemptOutcome> {
    const { lease, step, usable, record } = attempted;
    const { version, credential } = usable;
    asked.set(lease.id, undefined);
    const timeoutAt = now() + timeoutMs(call, step, record, version.versionId);
    const deadline = Math.min(requestEnd(lease.until, call.deadline), timeoutAt);
    if (deadline - now() < MIN_REQUEST_MS || sent.has(version.versionId)) return LOST;
    sent.add(version.versionId);
    if (call.stage === undefined && version.stage === 'AWSPREVIOUS') call.trace.warnings.add('previous-version');
    const { pair, service, trace } = call;
    const order = { pair, service, version, credential, record, forced: isForced(step), deadline, trace };
    const renewal = await renewToken(order);
    const outcome = outcomeOf(call, renewal, attempted, now());
    await settle(call, seen, attempted, outcome);
    if (outcome.kind === 'rejected') return outcome;
    if (outcome.kind === 'failed') {
      const cause = 'problem' in renewal ? renewal.problem.cause : undefined;
      return { ...outcome, problem: waitProblem(outcome.wait, now(), cause) };
    }
    const { token, isPublished } = outcome;
    // The token that is not published, because another must stay, serves this instance.
    if (!isPublished && !isTrial(call)) memory.keepOwn(pair, { ...record, token });
    if (isIssuable(token, now())) return { kind: 'token', token };
    const problem = new Problem('token-endpoint-timeout', FROZEN, { retryAfterSeconds: 1 });
    return { kind: 'failed', problem, version: outcome.version };
  }

  async function settle(call: Call, taken: Seen, { lease, isAlone }: Attempt, outcome: Outcome): Promise<void> {
    const isRejected = outcome.kind === 'rejected';
    // Every rejection is told, because the service counts it; another outcome of an instance that is alone is its own.
    const end = isRejected ? lastWriteEnd(call.deadline) : writeEnd(lease.until, call.deadline);
    const isTold = (isRejected || !isAlone) && (await tell(call, isAlone ? undefined : taken, lease.id, outcome, end));
    if (isTold) return;
    const own = settled(taken.record, lease.id, outcome);
    const rejection = isRejected ? own.rejected.get(outcome.version) : undefined;
    if (rejection) memory.keepRejection(call.pair, outcome.version, rejection);
    else memory.keepOwn(call.pair, own);
  }

  /** Writes the outcome, from the record that the lease's own write gave; again, after a read, when another write came first. */
  async function tell(
    call: Call,
    taken: Seen | undefined,
    id: string,
    outcome: Outcome,
    end: number,
  ): Promise<boolean> {
    for (let seen = taken; now() < end; seen = undefined) {
      const from: Seen | 'unavailable' = seen ?? (await whenAvailable(call.trace, () => store.read(call.pair, end)));
      if (from === 'unavailable') return false;
      const next = settled(from.record, id, outcome);
      if (next === from.record) return true;
      const written = await replace(call, from, next, end);
      if (written !== undefined) return written !== 'unavailable';
    }
    return false;
  }

  async function replace({ pair, trace }: Call, seen: Seen, next: PairRecord, end: number) {
    const began = memory.begin();
    const written = await whenAvailable(trace, () => store.replace(pair, seen, next, end));
    if (written !== undefined && written !== 'unavailable') memory.remember(pair, written.record, began, true);
    return written;
  }
}

const LOST = { kind: 'lost' } as const;
const FROZEN = 'The token ended before it could be issued.';

function outcomeOf(call: Call, renewal: Renewal, { usable, record, isAlone }: Attempt, at: number): Outcome {
  const {
    holdKey,
    version: { versionId: version },
  } = usable;
  const isKept = !isAlone && foreignToken(record, at) !== undefined && renewal.outcome === 'token';
  const isTold = isKept || isTrial(call);
  const common = { version, holdKey, at, checked: isTold ? { version, at, finding: findingOf(renewal) } : undefined };
  if (renewal.outcome === 'rejected') return { kind: 'rejected', ...common };
  if (renewal.outcome === 'token') return { kind: 'accepted', token: renewal.token, isPublished: !isTold, ...common };
  const whose = { version, key: holdKey, isTrial: isTrial(call) };
  return { kind: 'failed', ...waitAfter(renewal, record, whose, at), ...common };
}

function isForced(step: RequestStep<unknown>): boolean {
  return step.kind === 'request' && step.forced;
}

/**
 * A renewal has a second, as a rule. A rejection that the broker did not wait for is not counted, and many services take
 * longer than that to say no: a version that is not proven, or whose last request brought no answer, has the whole time.
 */
function timeoutMs({ service }: Call, step: RequestStep<unknown>, record: PairRecord, version: string): number {
  const isQuick = step.kind === 'renew' && isProven(record, version) && !record.pause?.unheard;
  return isQuick ? step.timeoutMs : service.requestTimeoutMs;
}

function findingOf(renewal: Renewal): CheckedVersion['finding'] {
  if (renewal.outcome === 'token') return 'accepted';
  if (renewal.outcome === 'rejected') return 'rejected';
  if (renewal.outcome === 'held') return 'misconfigured';
  const finding = findingOfProblem(renewal.problem.type, renewal.problem.shape);
  return finding === 'throttled' ? finding : 'unreachable';
}
