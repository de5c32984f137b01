import type { StagedVersions } from '../credential/secret.ts';
import { findingOfProblem, type Problem } from '../problem.ts';
import type { Renewal, RenewToken } from '../token-request/renew-token.ts';
import { chooseVersion, type UsableVersion } from './choose-version.ts';
import { lastWriteEnd, leaseMs, MIN_REQUEST_MS, requestEnd, writeEnd } from './deadlines.ts';
import type { Call, Decide, Step, View } from './decision.ts';
import { expiredHolds, holdAfter, pauseAfter, waitProblem } from './latch-and-pause.ts';
import type { PairMemory } from './memory.ts';
import { type CheckedVersion, capTimes, type PairRecord, type StoredToken } from './record.ts';
import { type Acquisition, type Ending, type Lease, type PairStore, whenAvailable } from './store.ts';
import { acquired, beforeMine, ended, rejected } from './transitions.ts';

/** What came of trying to take the lease and to make the token request that it allows. */
export type LeaseOutcome<Answer> =
  | { readonly kind: 'token'; readonly token: StoredToken }
  | { readonly kind: 'answer'; readonly answer: Answer }
  /** Another call was faster, or what the lease showed changes the decision; nothing was sent. */
  | { readonly kind: 'lost' }
  /** The service rejected the version; it is latched. `isTold`: the shared record says so, too. */
  | { readonly kind: 'rejected'; readonly isTold: boolean }
  /** The version was sent in vain; the problem is what all environments answer with for a while. */
  | { readonly kind: 'failed'; readonly problem: Problem; readonly version: string };

/** A step that needs the lease. */
export type LeaseStep<Answer> = Extract<Step<Answer>, { readonly kind: 'renew' | 'request' | 'withdraw' }>;

/** What is done under the lease: this version is sent, or the token is withdrawn. */
type Plan<Answer> = UsableVersion | Extract<Step<Answer>, { readonly kind: 'withdraw' }>;

interface Dependencies {
  readonly store: PairStore;
  readonly memory: PairMemory;
  /** The versions of the client's secret that matter to a call; what was read before `readSince` does not count. */
  readonly readVersions: (call: Call, record: PairRecord, readSince: number) => Promise<StagedVersions>;
  /** All versions of the client's secret that carry a stage; `undefined` when not every stage could be read. */
  readonly stagedVersions: (call: Call) => Promise<ReadonlySet<string> | undefined>;
  readonly renewToken: RenewToken;
  /** From 0 to below 1. */
  readonly random: () => number;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

/** The record under a lease of mine, and until when the lease lasts. Without the shared store no lease is taken. */
interface Held {
  readonly lease: Lease;
  readonly record: PairRecord;
  readonly until: number;
  readonly isAlone: boolean;
}

/**
 * Takes the lease, makes the one token request that it allows, and writes into the shared record what came of it. An
 * environment that is alone does the same without a lease, and remembers the outcome by itself.
 *
 * @throws Problem why no version may be sent
 * @throws StoreUnavailable the lease may or may not be mine; nothing was sent
 */
export function createLeasedRequest(dependencies: Dependencies) {
  const { store, memory, readVersions, stagedVersions, renewToken, random, now } = dependencies;

  return async <Answer>(
    call: Call,
    decide: Decide<Answer>,
    view: View,
    step: LeaseStep<Answer>,
    readSince: number,
  ): Promise<LeaseOutcome<Answer>> => {
    const { record } = view;
    // Beside a token that cannot be opened, none of my own is published: I am alone with what I request.
    const isClosed = step.kind === 'request' && record.closedUntil > now();
    const isAlone = view.isAlone || isClosed;
    if (call.deadline - now() < MIN_REQUEST_MS) return LOST;
    const plan = step.kind === 'withdraw' ? step : await choose(call, view, isClosed ? call.startedAt : readSince);
    const acquisition = acquisitionFor(call, view, step, plan);
    const { until } = acquisition;
    if (isAlone) {
      const mine = acquired(record, { ...acquisition, chargedVersion: undefined });
      return carryOut(call, step, { lease: noLease(call), record: mine, until, isAlone }, plan);
    }

    const shown = await store.acquire(call.pair, acquisition, call.deadline);
    if (shown === undefined) return LOST;
    const before = capTimes(memory.withOwn(call.pair, beforeMine(shown, record, acquisition)), now());
    const mine = acquired(before, acquisition);
    const held = { lease: { owner: call.owner, fence: mine.fence }, record: mine, until, isAlone };
    let confirmed: Plan<Answer> | undefined;
    try {
      confirmed = await confirm(call, decide, { ...view, record: before }, step, acquisition);
    } finally {
      if (confirmed === undefined) await end(call, held, { kind: 'release' });
    }
    return confirmed === undefined ? LOST : carryOut(call, step, held, confirmed);
  };

  async function choose(call: Call, { record, versions }: View, readSince: number): Promise<UsableVersion> {
    return chooseVersion(call, versions ?? (await readVersions(call, record, readSince)), record, now());
  }

  function acquisitionFor<Answer>(
    call: Call,
    { record, observedExpired }: View,
    step: LeaseStep<Answer>,
    plan: Plan<Answer>,
  ): Acquisition {
    const takenAt = now();
    const versionId = 'kind' in plan ? '' : plan.version.versionId;
    return {
      seenFence: record.fence,
      owner: call.owner,
      now: takenAt,
      until: takenAt + leaseMs(call.service),
      observedExpired,
      forced: step.kind === 'request' && step.forced,
      chargedVersion: record.rejected.has(versionId) ? versionId : undefined,
      isCheck: call.stage !== undefined,
    };
  }

  /** Decides once more, from the record before the lease and with a secret that was read since the call began. */
  async function confirm<Answer>(
    call: Call,
    decide: Decide<Answer>,
    view: View,
    step: LeaseStep<Answer>,
    acquisition: Acquisition,
  ): Promise<Plan<Answer> | undefined> {
    const { record } = view;
    const versions = await readVersions(call, record, step.kind === 'withdraw' ? acquisition.now : call.startedAt);
    const again = decide({ ...view, record: { ...record, leaseUntil: 0 }, versions: view.versions && versions });
    if (!isSameStep(step, again) || call.deadline - now() < MIN_REQUEST_MS) return undefined;
    if (again.kind === 'withdraw') return again;
    if (record.closedUntil > now()) return undefined;
    const usable = chooseVersion(call, versions, record, now());
    return isCharged(record, usable, acquisition) ? usable : undefined;
  }

  async function carryOut<Answer>(
    call: Call,
    step: LeaseStep<Answer>,
    held: Held,
    plan: Plan<Answer>,
  ): Promise<LeaseOutcome<Answer>> {
    if (!('kind' in plan)) return request(call, step, held, plan);
    await end(call, held, { kind: 'withdraw' });
    return { kind: 'answer', answer: plan.answer };
  }

  async function request<Answer>(
    call: Call,
    step: Step<Answer>,
    held: Held,
    { version, credential, holdKey }: UsableVersion,
  ): Promise<LeaseOutcome<never>> {
    const { versionId } = version;
    const { record } = held;
    if (call.stage === undefined && version.stage === 'AWSPREVIOUS') call.trace.warnings.add('previous-version');
    const checked = (finding: CheckedVersion['finding']) =>
      isTrial(call) ? { version: versionId, at: now(), finding } : undefined;
    // A defect that is thrown here leaves the lease as it is: it runs out, so there is one request per lease in the fleet.
    const renewal = await renewToken({
      pair: call.pair,
      service: call.service,
      version,
      credential,
      record,
      forced: step.kind === 'request' && step.forced,
      deadline: Math.min(requestEnd(held.until, call.deadline), now() + timeoutMs(call, step, record, versionId)),
      trace: call.trace,
    });
    if (renewal.outcome === 'token') {
      const { token } = renewal;
      const found = checked('accepted');
      await end(
        call,
        held,
        found === undefined
          ? { kind: 'publish', token, holdKey }
          : { kind: 'prove', version: versionId, holdKey, checked: found },
      );
      return { kind: 'token', token };
    }
    if (renewal.outcome === 'rejected') return reject(call, held, versionId, checked('rejected'));
    const problem = await failed(call, held, holdKey, renewal, checked);
    return { kind: 'failed', problem, version: versionId };
  }

  /** The problem that all environments answer with from now on, until the pause or the hold is over. */
  async function failed(
    call: Call,
    held: Held,
    key: string,
    { outcome, problem }: Extract<Renewal, { readonly problem: Problem }>,
    checked: (finding: CheckedVersion['finding']) => CheckedVersion | undefined,
  ): Promise<Problem> {
    const { record } = held;
    if (outcome === 'held') {
      const hold = holdAfter(problem, record.held.get(key), now());
      const expiredKeys = expiredHolds(record.held, now());
      await end(call, held, { kind: 'hold', key, hold, expiredKeys, checked: checked('misconfigured') });
      return waitProblem(hold, now(), problem.cause);
    }
    const pause = pauseAfter(problem, record.pause, now());
    const finding = findingOfProblem(problem.type, problem.shape);
    await end(call, held, {
      kind: 'pause',
      pause,
      checked: checked(finding === 'throttled' ? finding : 'unreachable'),
    });
    return waitProblem(pause, now(), problem.cause);
  }

  async function reject(
    call: Call,
    { lease, record, isAlone }: Held,
    version: string,
    checked: CheckedVersion | undefined,
  ): Promise<LeaseOutcome<never>> {
    const rejection = { version, at: now(), goneVersions: await versionsGone(call, record), checked };
    // The other environments must know as well when this one has gone by itself.
    const isTold = await whenAvailable(call.trace, async () => {
      await store.reject(call.pair, lease, rejection, lastWriteEnd(call.deadline));
      return true;
    });
    if (isAlone || !isTold) memory.rememberAlone(call.pair, rejected(record, lease, rejection));
    if (!isTold) memory.rememberUntold(call.pair, version);
    return { kind: 'rejected', isTold: isTold === true };
  }

  /** Writes what came of a lease. A failure changes nothing for this caller: it only keeps the outcome from being shared. */
  async function end(call: Call, { lease, record, until, isAlone }: Held, ending: Ending): Promise<void> {
    const isMine = isAlone
      ? undefined
      : await whenAvailable(call.trace, () => store.end(call.pair, lease, ending, writeEnd(until, call.deadline)));
    if (isMine === false || ending.kind === 'release') return;
    const next = ended(record, ending);
    if (isMine) memory.remember(call.pair, next, until - leaseMs(call.service));
    else memory.rememberAlone(call.pair, next);
  }

  /** The latches to forget, once there are many. */
  async function versionsGone(call: Call, { rejected: latches }: PairRecord): Promise<readonly string[]> {
    if (latches.size < MAX_LATCHES) return [];
    const staged = await stagedVersions(call);
    if (staged === undefined) return [];
    const gone = [...latches].filter(([version, { at }]) => !staged.has(version) && now() - at > KEPT_LATCH_MS);
    return gone.map(([version]) => version);
  }

  /** An owner and a fence that no lease has: what is written with them ends no lease. */
  function noLease({ owner }: Call): Lease {
    return { owner, fence: -1 - Math.floor(random() * MAX_FENCE) };
  }
}

const LOST = { kind: 'lost' } as const;

/** A check of a version that is not in use: its token is for no caller. */
export function isTrial({ stage }: Call): boolean {
  return stage !== undefined && stage !== 'AWSCURRENT';
}

function isSameStep<Answer>(step: LeaseStep<Answer>, again: Step<Answer>): again is LeaseStep<Answer> {
  if (step.kind === 'request' && again.kind === 'request') return step.forced === again.forced;
  return again.kind === step.kind;
}

/** A version that has been rejected before may be sent only under the lease that used up its next chance. */
function isCharged({ rejected: latches }: PairRecord, { version }: UsableVersion, { chargedVersion }: Acquisition) {
  return version.versionId === chargedVersion || !latches.has(version.versionId);
}

/**
 * A renewal has a second, as a rule. A rejection that the broker did not wait for is not counted, and many services take
 * longer than that to say no: a version that is new, or whose last request timed out, has the whole time.
 */
function timeoutMs<Answer>({ service }: Call, step: Step<Answer>, { token, pause }: PairRecord, version: string) {
  const isProven = token?.credentialVersion === version && pause?.problem.type !== 'token-endpoint-timeout';
  return step.kind === 'renew' && isProven ? step.timeoutMs : service.requestTimeoutMs;
}

const MAX_FENCE = 2 ** 40;

/** Latches of the last hour count as checks of pending versions, also when the version has no stage any more. */
const KEPT_LATCH_MS = 60 * 60_000;

/** Above this many latches the ones of versions without a stage are forgotten. */
const MAX_LATCHES = 4;
