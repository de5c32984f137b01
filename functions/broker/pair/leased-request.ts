import type { StagedVersions } from '../credential/secret.ts';
import { findingOfProblem, type Problem } from '../problem.ts';
import { chooseVersion, type UsableVersion } from './choose-version.ts';
import { lastWriteEnd, leaseMs, MIN_REQUEST_MS, requestEnd, writeEnd } from './deadlines.ts';
import type { Call, Decide, Step, View } from './decision.ts';
import { expiredHolds, holdAfter, pauseAfter, waitProblem } from './latch-and-pause.ts';
import type { PairMemory } from './memory.ts';
import { type CheckedVersion, capTimes, type PairRecord, type StoredToken } from './record.ts';
import type { Renewal, RenewToken } from './renew-token.ts';
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

/** Times are epoch milliseconds; `random` gives numbers from 0 to below 1. */
export interface LeaseDependencies {
  readonly store: PairStore;
  readonly memory: PairMemory;
  readonly renewToken: RenewToken;
  readonly random: () => number;
  readonly now: () => number;
}

interface Versions {
  /** The versions of the client's secret that matter to a call; what was read before `readSince` does not count. */
  readonly readVersions: (call: Call, record: PairRecord, readSince: number) => Promise<StagedVersions>;
  /** Which of these versions carry no stage any more; none when not every stage could be read. */
  readonly withoutStage: (call: Call, versions: readonly string[]) => Promise<readonly string[]>;
}

/** A lease of mine and the record under it. Without the shared store no lease is taken. */
interface Held {
  readonly call: Call;
  readonly acquisition: Acquisition;
  readonly lease: Lease;
  readonly record: PairRecord;
  readonly isAlone: boolean;
}

/**
 * Takes the lease, makes the one token request that it allows, and writes into the shared record what came of it. An
 * environment that is alone does the same without a lease, and remembers the outcome by itself.
 *
 * @throws Problem why no version may be sent
 * @throws StoreUnavailable the lease may or may not be mine; nothing was sent
 */
export function createLeasedRequest(dependencies: LeaseDependencies & Versions) {
  const { store, memory, readVersions, withoutStage, renewToken, random, now } = dependencies;

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
    const read = () => view.versions ?? readVersions(call, record, isClosed ? call.startedAt : readSince);
    const plan = step.kind === 'withdraw' ? step : chooseVersion(call, await read(), record, now());
    const versionId = 'kind' in plan ? '' : plan.version.versionId;
    const takenAt = now();
    const acquisition: Acquisition = {
      seenFence: record.fence,
      owner: call.owner,
      now: takenAt,
      until: takenAt + leaseMs(call.service),
      observedExpired: view.observedExpired,
      forced: isForced(step),
      chargedVersion: record.rejected.has(versionId) ? versionId : undefined,
      isCheck: call.stage !== undefined,
    };
    if (isAlone) {
      const mine = acquired(record, { ...acquisition, chargedVersion: undefined });
      // A fence that no lease has: what is written with it ends none.
      const lease = { owner: call.owner, fence: -1 - Math.floor(random() * MAX_FENCE) };
      return carryOut({ call, acquisition, lease, record: mine, isAlone }, step, plan);
    }

    const shown = await store.acquire(call.pair, acquisition, call.deadline);
    if (shown === undefined) return LOST;
    const before = capTimes(memory.withOwn(call.pair, beforeMine(shown, record, acquisition)), now());
    const mine = acquired(before, acquisition);
    const lease = { owner: call.owner, fence: mine.fence };
    const held = { call, acquisition, lease, record: mine, isAlone };
    let confirmed: Plan<Answer> | undefined;
    try {
      confirmed = await confirm(held, decide, { ...view, record: before }, step);
    } finally {
      if (confirmed === undefined) await end(held, { kind: 'release' });
    }
    return confirmed === undefined ? LOST : carryOut(held, step, confirmed);
  };

  /** Decides once more, from the record before the lease and with a secret that was read since the call began. */
  async function confirm<Answer>(held: Held, decide: Decide<Answer>, view: View, step: LeaseStep<Answer>) {
    const { call, acquisition } = held;
    const { record } = view;
    const versions = await readVersions(call, record, step.kind === 'withdraw' ? acquisition.now : call.startedAt);
    const again = decide({ ...view, record: { ...record, leaseUntil: 0 }, versions: view.versions && versions });
    const isSame = again.kind === step.kind && isForced(again) === isForced(step);
    if (!isSame || call.deadline - now() < MIN_REQUEST_MS) return undefined;
    if (again.kind === 'withdraw') return again;
    if (record.closedUntil > now()) return undefined;
    const usable = chooseVersion(call, versions, record, now());
    const { versionId } = usable.version;
    // A version that has been rejected before may be sent only under the lease that used up its next chance.
    return versionId === acquisition.chargedVersion || !record.rejected.has(versionId) ? usable : undefined;
  }

  async function carryOut<Answer>(held: Held, step: Step<Answer>, plan: Plan<Answer>): Promise<LeaseOutcome<Answer>> {
    if ('kind' in plan) {
      await end(held, { kind: 'withdraw' });
      return { kind: 'answer', answer: plan.answer };
    }
    const { version, credential, holdKey } = plan;
    const { versionId } = version;
    const { call, record, acquisition } = held;
    if (call.stage === undefined && version.stage === 'AWSPREVIOUS') call.trace.warnings.add('previous-version');
    const timeoutAt = now() + timeoutMs(call, step, record, versionId);
    // A defect that is thrown here leaves the lease as it is: it runs out, so there is one request per lease in the fleet.
    const renewal = await renewToken({
      pair: call.pair,
      service: call.service,
      version,
      credential,
      record,
      forced: acquisition.forced,
      deadline: Math.min(requestEnd(acquisition.until, call.deadline), timeoutAt),
      trace: call.trace,
    });
    const checked = isTrial(call) ? { version: versionId, at: now(), finding: findingOf(renewal) } : undefined;
    if (renewal.outcome === 'rejected') return reject(held, versionId, checked);
    if (renewal.outcome === 'token') {
      const { token } = renewal;
      const proof = { kind: 'prove', version: versionId, holdKey, checked } as const;
      await end(held, checked === undefined ? { kind: 'publish', token, holdKey } : proof);
      return { kind: 'token', token };
    }
    const { outcome, problem } = renewal;
    const isHeld = outcome === 'held';
    const [waitAfter, before] = isHeld ? [holdAfter, record.held.get(holdKey)] : [pauseAfter, record.pause];
    const wait = waitAfter(problem, before, now());
    const hold = { kind: 'hold', key: holdKey, hold: wait, expiredKeys: expiredHolds(record.held, now()) } as const;
    await end(held, { ...(isHeld ? hold : { kind: 'pause', pause: wait }), checked });
    return { kind: 'failed', problem: waitProblem(wait, now(), problem.cause), version: versionId };
  }

  async function reject({ call, lease, record, isAlone }: Held, version: string, checked?: CheckedVersion) {
    const rejection = { version, at: now(), goneVersions: await versionsGone(call, record), checked };
    // The other environments must know as well when this one has gone by itself.
    const isTold = await whenAvailable(call.trace, async () => {
      await store.reject(call.pair, lease, rejection, lastWriteEnd(call.deadline));
      return true;
    });
    if (isAlone || !isTold) memory.remember(call.pair, rejected(record, lease, rejection));
    if (!isTold) memory.rememberUntold(call.pair, version);
    return { kind: 'rejected', isTold: isTold === true } as const;
  }

  /** Writes what came of a lease. A failure changes nothing for this caller: it only keeps the outcome from being shared. */
  async function end({ call, acquisition, lease, record, isAlone }: Held, ending: Ending): Promise<void> {
    const until = writeEnd(acquisition.until, call.deadline);
    const isMine = isAlone
      ? undefined
      : await whenAvailable(call.trace, () => store.end(call.pair, lease, ending, until));
    if (isMine === false || ending.kind === 'release') return;
    memory.remember(call.pair, ended(record, ending), isMine ? acquisition.now : undefined);
  }

  /** The latches to forget, once there are many. */
  async function versionsGone(call: Call, { rejected: latches }: PairRecord): Promise<readonly string[]> {
    if (latches.size < MAX_LATCHES) return [];
    const old = [...latches].filter(([, { at }]) => now() - at > KEPT_LATCH_MS);
    return withoutStage(
      call,
      old.map(([version]) => version),
    );
  }
}

const LOST = { kind: 'lost' } as const;

/** A check of a version that is not in use: its token is for no caller. */
export function isTrial({ stage }: Call): boolean {
  return stage !== undefined && stage !== 'AWSCURRENT';
}

function isForced<Answer>(step: Step<Answer>): boolean {
  return step.kind === 'request' && step.forced;
}

/**
 * A renewal has a second, as a rule. A rejection that the broker did not wait for is not counted, and many services take
 * longer than that to say no: a version that is new, or whose last request timed out, has the whole time.
 */
function timeoutMs<Answer>({ service }: Call, step: Step<Answer>, { token, pause }: PairRecord, version: string) {
  const isProven = token?.credentialVersion === version && pause?.problem.type !== 'token-endpoint-timeout';
  return step.kind === 'renew' && isProven ? step.timeoutMs : service.requestTimeoutMs;
}

function findingOf(renewal: Renewal): CheckedVersion['finding'] {
  if (renewal.outcome === 'token') return 'accepted';
  if (renewal.outcome === 'rejected') return 'rejected';
  if (renewal.outcome === 'held') return 'misconfigured';
  const finding = findingOfProblem(renewal.problem.type, renewal.problem.shape);
  return finding === 'throttled' ? finding : 'unreachable';
}

const MAX_FENCE = 2 ** 40;

/** Latches of the last hour count as checks of pending versions, also when the version has no stage any more. */
const KEPT_LATCH_MS = 60 * 60_000;

/** Above this many latches the ones of versions without a stage are forgotten. */
const MAX_LATCHES = 4;
