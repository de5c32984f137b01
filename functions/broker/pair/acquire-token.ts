import type { SecretCache, SecretVersion } from '../credential/secret.ts';
import { Problem } from '../problem.ts';
import { type Call, isTrial, type LeasedRequest, type Progress, startProgress } from './call.ts';
import { chooseVersion, goneProblem, readVersions, rejectedProblem } from './choose-version.ts';
import { lastWriteEnd, leaseMs, MIN_REQUEST_MS, requestEnd, watch, writeEnd } from './deadlines.ts';
import type { Step, View } from './decision.ts';
import type { PairMemory } from './memory.ts';
import type { ObtainToken } from './obtain-token.ts';
import { type Outcome, outcomeOf } from './outcome.ts';
import type { PairRecord, StoredToken } from './record.ts';
import {
  EMPTY_RECORD,
  foreignToken,
  isIssuable,
  isProven,
  livingToken,
  waitProblem,
  withoutFutureTimes,
} from './record.ts';
import { type PairStore, StoreBusy, StoreUnavailable, type TaggedRecord } from './store.ts';
import { leased, settled, withdrawn } from './transitions.ts';

interface Dependencies {
  /** Part of every secret's name. */
  readonly environment: string;
  readonly store: PairStore;
  readonly memory: PairMemory;
  readonly secrets: SecretCache;
  readonly obtainToken: ObtainToken;
  readonly uniqueId: () => string;
  readonly now: () => number;
  readonly sleep: (ms: number) => Promise<void>;
  readonly random: () => number;
}

type Decide<Answer> = (view: View) => Step<Answer>;

/** The end of one turn of the loop: an answer, a token, a failed request, or a reason to look again. */
type Turn<Answer> =
  | { readonly kind: 'answer'; readonly answer: Answer }
  | { readonly kind: 'token'; readonly token: StoredToken; readonly version: SecretVersion }
  | { readonly kind: 'failed'; readonly problem: Problem; readonly version: SecretVersion }
  | typeof WAIT
  | typeof BUSY
  | typeof AGAIN
  | typeof SILENT;

/** The result of a store call. `wait`: another write came first. `silent`: a write may have happened. */
type Told = { readonly kind: 'seen'; readonly seen: TaggedRecord } | typeof WAIT | typeof BUSY | typeof SILENT;

/**
 * Gets a token or an answer for a call. ACQUIRE looks at the shared record, lets the call decide, and takes the
 * lease. SEND makes the one token request that the lease allows. SETTLE writes the outcome. Without the shared
 * store the instance is alone and uses its own record.
 */
export function createAcquireToken(dependencies: Dependencies) {
  const { store, memory, obtainToken, uniqueId, now, sleep, random } = dependencies;

  /** @throws Problem why there is neither an answer nor a token */
  return async <Answer>(call: Call, decide: Decide<Answer>) => {
    const progress = startProgress(call, now());
    while (now() < call.deadline) {
      const end = await turn(progress, decide);
      if (end.kind === 'wait' || end.kind === 'busy') await poll(progress);
      else if (end.kind !== 'again' && end.kind !== 'silent') return end;
    }
    const retryAfterSeconds = call.trace.warnings.has('shared-cache-busy') ? BUSY_RETRY_S : 1;
    throw new Problem('token-endpoint-timeout', 'No token came in time.', { retryAfterSeconds });
  };

  /** ACQUIRE: looks, decides and acts once. */
  async function turn<Answer>(progress: Progress, decide: Decide<Answer>): Promise<Turn<Answer>> {
    const told = progress.unanswered > 1 ? SILENT : await read(progress, progress.call.deadline);
    if (told.kind === 'busy') return decideWhileBusy(progress, decide);
    const view = await look(progress, told.kind === 'seen' ? told.seen : undefined);
    if (view === undefined) return WAIT;
    const { seen } = view;
    // The write of this call's lease may have gone unanswered and arrived all the same.
    const confirmed = progress.unconfirmed.get(seen?.record.lease?.id ?? '');
    if (seen !== undefined && confirmed !== undefined && !seen.record.disabled) {
      return requestUnderLease(progress, seen, confirmed);
    }

    const step = decide(view);
    if (step.kind === 'answer' || step.kind === 'wait') return step;
    if (step.kind === 'withdraw') return withdraw(progress, seen, step.answer);
    if (seen === undefined && progress.unanswered < 2 && progress.patience === 'unused') {
      progress.patience = 'now';
      return AGAIN;
    }
    return step.kind === 'request' ? takeLease(progress, view, step) : renew(progress, view, step, decide);
  }

  async function withdraw<Answer>(progress: Progress, seen: TaggedRecord | undefined, answer: Answer) {
    const told = seen && (await replace(progress, seen, withdrawn(seen.record), progress.call.deadline));
    return told === undefined || told.kind === 'seen' ? ({ kind: 'answer', answer } as const) : told;
  }

  /** Tries to replace the living token. The living token serves, so a failure does not matter to the caller. */
  async function renew<Answer>(progress: Progress, view: View, step: Step<Answer>, decide: Decide<Answer>) {
    const end = await takeLease(progress, view, step).catch(waitAfterProblem);
    // Remembers the attempt locally. Without a lease the table has no trace of it, and renewals would not back off.
    const attempt = { attemptedAt: view.at };
    memory.keepOwn(progress.call.pair, attempt);
    const rest = end.kind === 'token' ? end : decide({ ...view, record: { ...view.record, ...attempt } });
    return rest.kind === 'answer' ? rest : end;
  }

  /** Returns everything that is known, or `undefined` while the store is silent and a lease can still live. */
  async function look(progress: Progress, seen: TaggedRecord | undefined): Promise<View | undefined> {
    const { call, unconfirmed } = progress;
    const lease = seen?.record.lease;
    const leaseOfOther = unconfirmed.has(lease?.id ?? '') ? undefined : lease;
    if (seen !== undefined) progress.watched = watch(progress.watched, leaseOfOther, leaseMs(call.service), now());
    const leaseIsOver = leaseLeftMs(progress) === 0;
    if (seen === undefined && !leaseIsOver) return undefined;
    const at = now();
    const record = withOwn(progress, at, seen?.record);
    const isOwnToken = record.token !== undefined && record.token !== seen?.record.token;
    const isAlone = seen === undefined || isOwnToken || foreignToken(seen.record, at) !== undefined;
    const isCheck = call.stage !== undefined;
    // A check sends the version that it decides on, so it reads the secret after the look, unless it must wait.
    const checkSince = leaseIsOver ? at : progress.readSince;
    const readSince = isCheck ? checkSince : at - ALONE_TRUST_MS;
    const versions = isCheck || isAlone ? await readVersions(dependencies, call, record, readSince) : undefined;
    return { seen, at, record, isAlone, versions, leaseIsOver };
  }

  /** Returns what the table or the memory contains, merged with the outcomes of this instance and of this call. */
  function withOwn({ call, sent }: Progress, at: number, shared?: PairRecord): PairRecord {
    const known = memory.withOwn(call.pair, shared);
    // Counts each version that this call has sent as latched. The table may confirm a write and forget it.
    return withoutFutureTimes({ ...known, rejected: new Map([...known.rejected, ...sent]) }, at);
  }

  /**
   * Answers from memory while the table is busy, or waits. A living token needs the secret of the last minute.
   * Latches, holds and pauses count while memory is trusted. A version that this call has sent always counts as
   * latched. Sends nothing and takes no lease, however long the table is busy.
   */
  async function decideWhileBusy<Answer>(progress: Progress, decide: Decide<Answer>): Promise<Turn<Answer>> {
    const { call, sent } = progress;
    const at = now();
    const isTrusted = memory.trusted(call.pair) !== undefined;
    const known = withOwn(progress, at);
    const { token, disabled } = known;
    if (sent.size === 0 && (isTrial(call) || (!isTrusted && livingToken(known, at) === undefined))) return BUSY;
    const record = isTrusted ? known : { ...EMPTY_RECORD, token, disabled, rejected: sent };
    const versions = await readVersions(dependencies, call, record, Math.max(progress.readSince, at - ALONE_TRUST_MS));
    if (goneProblem(versions, call.pair)?.type === 'secrets-unavailable') return BUSY;
    const step = decide({ seen: undefined, at, record, isAlone: true, versions, leaseIsOver: false });
    if (step.kind === 'answer') return step;
    if (versions.candidates.every(({ outcome }) => outcome !== 'unavailable'))
      chooseVersion(call, versions, record, now());
    return BUSY;
  }

  /** Takes the lease for a version that was read after the look. @throws Problem why no version may be sent */
  async function takeLease(progress: Progress, view: View, step: Step<unknown>): Promise<Turn<never>> {
    const { call } = progress;
    const { seen, record, at, leaseIsOver } = view;
    const choose = async (readSince: number) =>
      chooseVersion(call, await readVersions(dependencies, call, record, readSince), record, now());
    // Too little time to read the secret is no failure of Secrets Manager.
    const isTooLate = () => call.deadline - now() < MIN_REQUEST_MS;
    if (isTooLate()) return WAIT;
    // Checks the cached secret first: if its version is latched or held, fails without reading Secrets Manager.
    await choose(progress.readSince);
    const chosen = await choose(at);
    if (isTooLate()) return WAIT;

    const { versionId: version } = chosen.version;
    const lease = { id: uniqueId(), until: now() + leaseMs(call.service) };
    const forced = step.kind === 'request' && step.forced;
    // Next to a token that must stay, a proven version needs no lease. Any other version needs a lease, or the
    // fleet locks the account. A trial needs a lease too, because the table has the budget of trials.
    const isFree = seen && !isTrial(call) && isProven(seen.record, version) && foreignToken(seen.record, now());
    const table = isFree ? undefined : seen;
    const before = table?.record ?? record;
    const next = leased(before, lease, { version, forced, isCheck: call.stage !== undefined }, now());
    // A renewal usually has one second. Many services take longer to reject, and an unheard rejection is not
    // counted. So a version that is not proven, or whose last request brought no answer, has the whole time.
    const isQuick = step.kind === 'renew' && isProven(before, version) && !before.pause?.unheard;
    const timeoutMs = isQuick ? step.timeoutMs : call.service.requestTimeoutMs;
    const request = { ...chosen, lease, record: before, forced, timeoutMs, isShared: table !== undefined };
    if (table === undefined) return requestUnderLease(progress, { record: next, tag: undefined }, request);
    if (!leaseIsOver) return WAIT;
    progress.unconfirmed.set(lease.id, request);
    const written = await replace(progress, table, next, call.deadline);
    return written.kind === 'seen' ? requestUnderLease(progress, written.seen, request) : written;
  }

  /**
   * SEND: makes the one token request of a lease. After a defect from here on the lease expires by itself, so the
   * fleet still makes one request per lease.
   */
  async function requestUnderLease(
    progress: Progress,
    taken: TaggedRecord,
    request: LeasedRequest,
  ): Promise<Turn<never>> {
    const { call, sent } = progress;
    const { lease, version, record } = request;
    const { versionId } = version;
    progress.unconfirmed.set(lease.id, undefined);
    const deadline = Math.min(requestEnd(lease.until, call.deadline), now() + request.timeoutMs);
    if (deadline - now() < MIN_REQUEST_MS || sent.has(versionId)) return WAIT;
    sent.set(versionId, { count: 1, at: now(), by: lease.id });
    if (call.stage === undefined && version.stage === 'AWSPREVIOUS') call.trace.warnings.add('previous-version');
    const obtained = await obtainToken(call, request, deadline);
    const outcome = outcomeOf(call, request, obtained, now());
    await settle(progress, taken, request, outcome);
    switch (outcome.kind) {
      case 'rejected':
        progress.readSince = now();
        if (now() < call.deadline) return AGAIN;
        return { kind: 'failed', problem: rejectedProblem(call.pair, versionId), version };
      case 'failed':
        return { kind: 'failed', problem: waitProblem(outcome.wait, now(), outcome.cause), version };
      case 'accepted': {
        const { token, isPublished } = outcome;
        // Another token must stay in the table, so this token serves only this instance.
        if (!isPublished && !isTrial(call)) memory.keepOwn(call.pair, { ...record, token });
        if (isIssuable(token, now())) return { kind: 'token', token, version };
        const problem = new Problem('token-endpoint-timeout', FROZEN, { retryAfterSeconds: 1 });
        return { kind: 'failed', problem, version };
      }
    }
  }

  /**
   * SETTLE: writes the outcome into the record that the lease's own write returned. When another write came first,
   * reads the record again. An outcome that the table does not take is remembered locally.
   */
  async function settle(progress: Progress, taken: TaggedRecord, request: LeasedRequest, outcome: Outcome) {
    const { call } = progress;
    const { lease, isShared } = request;
    const isRejected = outcome.kind === 'rejected';
    const lastEnd = isRejected ? lastWriteEnd(call.deadline) : writeEnd(lease.until, call.deadline);
    const end = isShared ? lastEnd : Math.min(lastEnd, now() + LONE_SETTLE_MS);
    const readAgain = () => whileBusy(end, () => read(progress, end));
    // The service counts every rejection, so the table must too.
    let told: Told = isShared ? { kind: 'seen', seen: taken } : isRejected ? await readAgain() : SILENT;
    while (told.kind === 'seen' && now() < end) {
      const { seen } = told;
      const next = settled(seen.record, lease.id, outcome);
      if (next === seen.record) return;
      const written = await whileBusy(end, () => replace(progress, seen, next, end));
      if (written.kind === 'seen') return;
      told = written.kind === 'wait' ? await readAgain() : written;
    }
    keepOutcome(call, taken.record, settled(taken.record, lease.id, outcome), outcome);
  }

  /** Remembers an outcome without the table's token, which another instance may withdraw or replace. */
  function keepOutcome({ pair }: Call, before: PairRecord, after: PairRecord, outcome: Outcome): void {
    memory.keepOutcome(pair, after.token === before.token ? { ...after, token: undefined } : after, outcome);
  }

  /** Repeats a call of the store while it is busy, until `end`. */
  async function whileBusy(end: number, ask: () => Promise<Told>): Promise<Told> {
    for (;;) {
      const told = await ask();
      if (told.kind !== 'busy' || now() >= end) return told;
      await sleep(Math.min(SETTLE_POLL_MS * (1 + random()), Math.max(0, end - now())));
    }
  }

  async function read(progress: Progress, end: number): Promise<Told> {
    const isPatient = progress.patience === 'now';
    const told = await ask(progress, () => store.read(progress.call.pair, end, isPatient));
    // An answer ends the silence, so the next silence gets a patient look again.
    if (isPatient || told.kind !== 'silent') progress.patience = told.kind === 'silent' ? 'used' : 'unused';
    return told;
  }

  async function replace(progress: Progress, seen: TaggedRecord, next: PairRecord, end: number): Promise<Told> {
    const told = await ask(progress, () => store.replace(progress.call.pair, seen, next, end), true);
    if (told.kind === 'silent') progress.unanswered += 1;
    return told;
  }

  async function ask(
    { call }: Progress,
    work: () => Promise<TaggedRecord | undefined>,
    isWrite = false,
  ): Promise<Told> {
    try {
      const seen = await memory.remember(call.pair, work, isWrite);
      return seen === undefined ? WAIT : { kind: 'seen', seen };
    } catch (error) {
      if (!(error instanceof StoreUnavailable || error instanceof StoreBusy)) throw error;
      const told = error instanceof StoreBusy ? BUSY : SILENT;
      call.trace.warnings.add(told === BUSY ? 'shared-cache-busy' : 'shared-cache-unavailable');
      return told;
    }
  }

  /** Returns how long the lease of another call can still be alive, also when the store falls silent. */
  function leaseLeftMs({ watched }: Progress): number {
    return Math.max(0, (watched?.until ?? 0) - now());
  }

  async function poll(progress: Progress): Promise<void> {
    const pollMs = Math.min(MAX_POLL_MS, FIRST_POLL_MS * 2 ** progress.polls++) * (1 + random()) * 0.5;
    // Wakes when the lease ends, at a random moment, so that waiting calls do not ask the table all at once.
    const wakeMs = (leaseLeftMs(progress) || Infinity) + random() * FIRST_POLL_MS;
    await sleep(Math.max(0, Math.min(pollMs, wakeMs, progress.call.deadline - now())));
  }
}

function waitAfterProblem(error: unknown): typeof WAIT {
  if (error instanceof Problem) return WAIT;
  throw error;
}

const WAIT = { kind: 'wait' } as const;
const BUSY = { kind: 'busy' } as const;
const AGAIN = { kind: 'again' } as const;
const SILENT = { kind: 'silent' } as const;
const FROZEN = 'The token ended before it could be issued.';

/** The first and the longest time between two polls of a waiting call. */
const FIRST_POLL_MS = 50;
const MAX_POLL_MS = 500;

/** Repeated writes of an outcome are this far apart, and up to twice as far, while the store is busy. */
const SETTLE_POLL_MS = 50;
const LONE_SETTLE_MS = 1_000;
/** Waiting calls hold the function's concurrency, so callers of a busy store should come back later. */
const BUSY_RETRY_S = 5;

/** An instance that is alone notices within this time that the secret was taken away. */
const ALONE_TRUST_MS = 60_000;
