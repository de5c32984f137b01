import type { SecretCache } from '../credential/secret.ts';
import { findingOfProblem, Problem } from '../problem.ts';
import { type Call, isTrial } from './call.ts';
import { chooseVersion, readVersions, type UsableVersion, withoutStage } from './choose-version.ts';
import { lastWriteEnd, leaseMs, MIN_REQUEST_MS, requestEnd, writeEnd } from './deadlines.ts';
import type { RequestStep } from './decision.ts';
import { isIssuable } from './freshness.ts';
import { longerWait, pauseAfter, waitProblem } from './latch-and-pause.ts';
import type { PairMemory } from './memory.ts';
import {
  type CheckedVersion,
  foreignToken,
  isProven,
  MAX_HOLD_MS,
  type PairRecord,
  type StoredToken,
} from './record.ts';
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

/** A look at the record: `seen` as the table holds it, `undefined` without the table; `record` with the instance's own outcomes. */
export interface Look {
  readonly seen: Seen | undefined;
  readonly record: PairRecord;
  readonly at: number;
  readonly leaseIsOver: boolean;
}

/** A lease that a call has asked for. A write that went unanswered may still arrive, so each is kept until it is used. */
export interface Attempt<Answer> {
  readonly id: string;
  readonly until: number;
  readonly step: RequestStep<Answer>;
  readonly usable: UsableVersion;
  /** The record before the lease: the table's, or that of an instance which is alone. */
  readonly record: PairRecord;
  readonly isAlone: boolean;
}

/** All attempts of one call, and the versions that it has sent: it sends none twice. */
export interface Attempts<Answer> {
  /** By the ids of leases; `undefined` once the lease is used. */
  readonly asked: Map<string, Attempt<Answer> | undefined>;
  readonly sent: Set<string>;
}

export type AttemptOutcome =
  | { readonly kind: 'token'; readonly token: StoredToken }
  /** The version was sent in vain; all instances answer with the problem for a while. */
  | { readonly kind: 'failed'; readonly problem: Problem; readonly version: string }
  /** The service rejected the version; it is latched. */
  | { readonly kind: 'rejected' }
  /** Another write came first, or there is no time or no fresh token: look again. */
  | { readonly kind: 'lost' }
  /** The store did not say whether the lease was taken. */
  | { readonly kind: 'unanswered' };

/** Takes the lease for one version, makes the one token request that it allows, and settles the outcome. */
export function createLeasedRequest(dependencies: LeaseDependencies) {
  const { store, memory, secrets, renewToken, uniqueId, now } = dependencies;

  return { attempt, send };

  /** `readSince`: from when on the secret counts. @throws Problem why no version may be sent */
  async function attempt<Answer>(
    call: Call,
    look: Look,
    step: RequestStep<Answer>,
    readSince: number,
    { asked, sent }: Attempts<Answer>,
  ): Promise<AttemptOutcome> {
    const { seen, record } = look;
    const choose = async (since: number) =>
      chooseVersion(call, await readVersions(dependencies, call, record, sent, since), record, sent, now());
    // A latch or a hold is told by the secret of the last minutes; the version that is sent was read after the look.
    if (readSince < look.at) await choose(readSince);
    const usable = await choose(look.at);
    const { versionId: version } = usable.version;
    if (call.deadline - now() < MIN_REQUEST_MS) return LOST;

    const id = uniqueId();
    const takenAt = now();
    const lease = { id, until: takenAt + leaseMs(call.service) };
    const use = { version, forced: step.kind === 'request' && step.forced, isCheck: call.stage !== undefined };
    // Beside a token that must stay, a proven version needs no lease; any other does, or a fleet locks the account.
    const isAlone =
      seen === undefined || (foreignToken(seen.record, takenAt) !== undefined && isProven(seen.record, version));
    const asking = { id, until: lease.until, step, usable, record: isAlone ? record : seen.record, isAlone };
    if (isAlone) {
      return send(call, { record: leased(record, lease, use, takenAt), tag: undefined }, asking, { asked, sent });
    }
    if (!look.leaseIsOver) return LOST;
    asked.set(id, asking);
    const began = memory.begin();
    const next = leased(seen.record, lease, use, takenAt);
    const taken = await whenAvailable(call.trace, () => store.replace(call.pair, seen, next, call.deadline));
    if (taken === 'unavailable') return { kind: 'unanswered' };
    if (taken === undefined) return LOST;
    memory.remember(call.pair, taken.record, began, true);
    return send(call, taken, asking, { asked, sent });
  }

  /** Uses a lease that is this call's. A defect from here on leaves it: it runs out, so the fleet makes one request per lease. */
  async function send<Answer>(
    call: Call,
    seen: Seen,
    attempt: Attempt<Answer>,
    { asked, sent }: Attempts<Answer>,
  ): Promise<AttemptOutcome> {
    const { id, until, step, usable, record, isAlone } = attempt;
    const { version, credential } = usable;
    asked.set(id, undefined);
    const deadline = Math.min(
      requestEnd(until, call.deadline),
      now() + timeoutMs(call, step, record, version.versionId),
    );
    if (deadline - now() < MIN_REQUEST_MS) return LOST;
    sent.add(version.versionId);
    if (call.stage === undefined && version.stage === 'AWSPREVIOUS') call.trace.warnings.add('previous-version');
    const forced = step.kind === 'request' && step.forced;
    const { pair, service, trace } = call;
    const order = { pair, service, version, credential, record: seen.record, forced, deadline, trace };
    const renewal = await renewToken(order);
    const outcome = await outcomeOf(call, renewal, attempt, now());
    await settle(call, isAlone ? undefined : seen, { id, until, record: seen.record }, outcome);
    if (renewal.outcome === 'rejected') return { kind: 'rejected' };
    if (renewal.outcome === 'token') {
      const { token } = renewal;
      if (outcome.kind === 'proven' && !isTrial(call)) memory.keepOwn(pair, { ...record, token });
      return isIssuable(token, now())
        ? { kind: 'token', token }
        : { kind: 'failed', problem: frozen(), version: version.versionId };
    }
    const wait = outcome.kind === 'held' ? outcome.hold : outcome.kind === 'paused' ? outcome.pause : undefined;
    const { problem } = renewal;
    return {
      kind: 'failed',
      problem: wait ? waitProblem(wait, now(), problem.cause) : problem,
      version: version.versionId,
    };
  }

  /** Writes the outcome, from the record that the lease's own write gave; again, after a read, when another write came first. */
  async function settle(
    call: Call,
    taken: Seen | undefined,
    { id, until, record }: { id: string; until: number; record: PairRecord },
    outcome: Outcome,
  ): Promise<void> {
    const { pair, deadline, trace } = call;
    const isRejected = outcome.kind === 'rejected';
    // The service counts a rejection under any lease; every other outcome is the lease holder's to write.
    const end = isRejected ? lastWriteEnd(deadline) : writeEnd(until, deadline);
    let seen = taken;
    while ((taken !== undefined || isRejected) && now() < end) {
      const from = seen ?? (await whenAvailable(trace, () => store.read(pair, end)));
      if (from === 'unavailable') break;
      const began = memory.begin();
      const next = settled(from.record, id, outcome);
      if (next === from.record) return;
      const written = await whenAvailable(trace, () => store.replace(pair, from, next, end));
      if (written === 'unavailable') break;
      if (written !== undefined) {
        memory.remember(pair, written.record, began, true);
        if (isRejected) memory.forgetRejection(pair, outcome.version);
        if (isRejected || taken !== undefined) return;
      }
      seen = undefined;
    }
    const own = settled(record, id, outcome);
    const rejection = isRejected ? own.rejected.get(outcome.version) : undefined;
    if (isRejected && rejection) memory.keepRejection(pair, outcome.version, rejection);
    else memory.keepOwn(pair, own);
  }

  async function outcomeOf<Answer>(
    call: Call,
    renewal: Renewal,
    { usable, record, isAlone }: Attempt<Answer>,
    at: number,
  ): Promise<Outcome> {
    const { holdKey: key } = usable;
    const { versionId: version } = usable.version;
    const isKept = !isAlone && foreignToken(record, at) !== undefined;
    const isTold = isTrial(call) || (isKept && renewal.outcome === 'token');
    const common = { at, checked: isTold ? { version, at, finding: findingOf(renewal) } : undefined };
    switch (renewal.outcome) {
      case 'token':
        if (isTold) return { kind: 'proven', version, key, ...common };
        return { kind: 'token', token: renewal.token, key, ...common };
      case 'rejected':
        return { kind: 'rejected', version, gone: await versionsGone(call, record), ...common };
      case 'held':
        return {
          kind: 'held',
          key,
          hold: longerWait(renewal.problem, record.held.get(key), at, MAX_HOLD_MS),
          ...common,
        };
      case 'failed':
        return { ...failureOf(renewal, isTrial(call), isProven(record, version), key, record, at), ...common };
    }
  }

  /** The latches to forget, once there are many. */
  async function versionsGone(call: Call, { rejected: latches }: PairRecord): Promise<readonly string[]> {
    if (latches.size < MAX_LATCHES) return [];
    const old = [...latches].filter(([, { at }]) => now() - at > KEPT_LATCH_MS);
    return withoutStage(
      secrets,
      call,
      old.map(([version]) => version),
    );
  }
}

const LOST = { kind: 'lost' } as const;

/**
 * The outcome of a request without an answer about the credential: it pauses the pair. A request that was sent and not heard
 * may have been rejected too late, so it holds a version that is not proven; and a trial, which must not disturb callers,
 * only ever holds its own version.
 */
function failureOf(
  { problem, isUnheard }: { readonly problem: Problem; readonly isUnheard?: boolean | undefined },
  isTrialCall: boolean,
  isSafe: boolean,
  key: string,
  { held, pause }: PairRecord,
  at: number,
) {
  if (!isTrialCall && (isSafe || !isUnheard)) {
    if (!isUnheard) return { kind: 'paused', pause: pauseAfter(problem, pause, at) } as const;
    return {
      kind: 'paused',
      pause: { ...longerWait(problem, pause, at, MAX_UNHEARD_PAUSE_MS), unheard: true },
    } as const;
  }
  const unheardMs = isSafe ? MAX_UNHEARD_PAUSE_MS : MAX_HOLD_MS;
  const hold = held.get(key);
  return {
    kind: 'held',
    key,
    hold: isUnheard ? longerWait(problem, hold, at, unheardMs) : pauseAfter(problem, hold, at),
  } as const;
}

/** The instance was frozen after the request: nothing is left of the token that could be issued. */
function frozen(): Problem {
  return new Problem('token-endpoint-timeout', 'The token ended before it could be issued.', { retryAfterSeconds: 1 });
}

/**
 * A renewal has a second, as a rule. A rejection that the broker did not wait for is not counted, and many services take
 * longer than that to say no: a version that is not proven, or whose last request brought no answer, has the whole time.
 */
function timeoutMs<Answer>({ service }: Call, step: RequestStep<Answer>, record: PairRecord, version: string): number {
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

/** A proven version may be asked once a minute while the service says nothing. */
const MAX_UNHEARD_PAUSE_MS = 60_000;

/** Latches of the last hour count as checks of pending versions, also when the version has no stage any more. */
const KEPT_LATCH_MS = 60 * 60_000;

/** Above this many latches the ones of versions without a stage are forgotten. */
const MAX_LATCHES = 4;
