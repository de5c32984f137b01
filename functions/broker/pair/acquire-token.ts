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
import { foreignToken, isIssuable, isProven, livingToken, waitProblem, withoutFutureTimes } from './record.ts';
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
type Change = (seen: TaggedRecord) => PairRecord;

/** The end of one turn of the loop: an answer, a token, a failed request, or a reason to look again. */
type Turn<Answer> =
  | { readonly kind: 'answer'; readonly answer: Answer }
  | { readonly kind: 'token'; readonly token: StoredToken; readonly version: SecretVersion }
  | { readonly kind: 'failed'; readonly problem: Problem; readonly version: SecretVersion }
  | Exclude<Told, TaggedRecord>;

/** The result of a store call. `wait`: another write came first. `again`: no answer, so a write may have happened. */
type Told = TaggedRecord | 'wait' | 'busy' | 'again';

/**
 * Gets a token or an answer for a call. ACQUIRE looks at the shared record, lets the call decide, and takes the lease.
 * SEND makes the one token request that the lease allows. SETTLE writes the outcome. Without an answer of the store
 * the instance is alone and uses its own record.
 */
export function createAcquireToken(dependencies: Dependencies) {
  const { store, memory, obtainToken, uniqueId, now, sleep, random } = dependencies;

  /** @throws Problem why there is neither an answer nor a token */
  return async <Answer>(call: Call, decide: Decide<Answer>) => {
    const progress = startProgress(call, now());
    while (now() < call.deadline) {
      const end = await turn(progress, decide);
      if (typeof end === 'object') return end;
      if (end !== 'again') await poll(progress);
    }
    const retryAfterSeconds = call.trace.warnings.has('table-busy') ? BUSY_RETRY_S : 1;
    throw new Problem('token-endpoint-timeout', 'No token came in time.', { retryAfterSeconds });
  };

  /** ACQUIRE: looks, decides and acts once. */
  async function turn<Answer>(progress: Progress, decide: Decide<Answer>): Promise<Turn<Answer>> {
    const { call, unanswered } = progress;
    const { pair, deadline } = call;
    const told = unanswered > 1 ? 'again' : await ask(call, () => store.read(pair, deadline, progress.isPatient));
    progress.isPatient &&= told === 'again';
    if (told === 'busy') return decideWhileBusy(progress, decide);
    const view = await look(progress, told);
    if (view === undefined) return 'wait';
    const { seen } = view;
    // The write of this call's lease may have gone unanswered and arrived all the same.
    const confirmed = progress.unconfirmed.get(seen?.record.lease?.id ?? '');
    if (seen && confirmed && !seen.record.disabled) return sendRequest(progress, seen, confirmed);

    const step = decide(view);
    if (step.kind === 'answer') return step;
    if (step.kind === 'wait') return 'wait';
    if (step.kind === 'withdraw') return withdraw(progress, seen, step.answer);
    if (seen === undefined && unanswered < 2 && !progress.isPatient) {
      progress.isPatient = true;
      return 'again';
    }
    return step.kind === 'request' ? takeLease(progress, view, step) : renew(progress, view, step, decide);
  }

  async function withdraw<Answer>(progress: Progress, seen: TaggedRecord | undefined, answer: Answer) {
    const told = seen && (await replace(progress, seen, withdrawn(seen.record), progress.call.deadline));
    return typeof told === 'string' ? told : ({ kind: 'answer', answer } as const);
  }

  /** Tries to replace the living token. The living token serves, so a failure does not matter to the caller. */
  async function renew<Answer>(progress: Progress, view: View, step: Step<Answer>, decide: Decide<Answer>) {
    const end = await takeLease(progress, view, step).catch((error: unknown) => {
      if (error instanceof Problem) return 'wait' as const;
      throw error;
    });
    // Remembers the attempt locally. Without a lease the table has no trace of it, and renewals would not back off.
    const attempt = { attemptedAt: view.at };
    memory.keepOwn(progress.call.pair, attempt);
    if (typeof end === 'object' && end.kind === 'token') return end;
    const rest = decide({ ...view, record: { ...view.record, ...attempt } });
    return rest.kind === 'answer' ? rest : end;
  }

  /** Returns everything that is known, or `undefined` while the store is silent and a lease can still live. */
  async function look(progress: Progress, told: Told): Promise<View | undefined> {
    const { call, unconfirmed } = progress;
    const seen = typeof told === 'object' ? told : undefined;
    const lease = seen?.record.lease;
    const leaseOfOther = unconfirmed.has(lease?.id ?? '') ? undefined : lease;
    if (seen !== undefined) progress.watched = watch(progress.watched, leaseOfOther, leaseMs(call.service), now());
    const leaseIsOver = (progress.watched?.until ?? 0) <= now();
    if (seen === undefined && !leaseIsOver) return undefined;
    const at = now();
    const record = withOwn(progress, at, seen?.record);
    const isOwnToken = record.token !== undefined && record.token !== seen?.record.token;
    const isAlone = seen === undefined || isOwnToken || foreignToken(seen.record, at) !== undefined;
    const isCheck = call.stage !== undefined;
    // A check sends the version that it decides on, so it reads the secret after the look, unless it must wait.
    const readSince = !isCheck ? at - ALONE_TRUST_MS : leaseIsOver ? at : progress.readSince;
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
   * Answers from memory while the table is busy, or waits. Sends nothing and takes no lease. A living token needs the
   * secret of the last minute. Latches, holds and pauses count while memory is trusted, own rejections always.
   */
  async function decideWhileBusy<Answer>(progress: Progress, decide: Decide<Answer>): Promise<Turn<Answer>> {
    const { call, sent, readSince } = progress;
    const at = now();
    const isTrusted = memory.trusted(call.pair) !== undefined;
    const known = withOwn(progress, at);
    if (sent.size === 0 && (isTrial(call) || (!isTrusted && livingToken(known, at) === undefined))) return 'busy';
    const record = isTrusted ? known : { ...known, rejected: sent, held: new Map(), pause: undefined };
    const versions = await readVersions(dependencies, call, record, Math.max(readSince, at - ALONE_TRUST_MS));
    if (goneProblem(versions, call.pair)?.type === 'secrets-unavailable') return 'busy';
    const step = decide({ seen: undefined, at, record, isAlone: true, versions, leaseIsOver: false });
    if (step.kind === 'answer') return step;
    const isKnown = versions.candidates.every(({ outcome }) => outcome !== 'unavailable');
    if (isKnown) chooseVersion(call, versions, record, now());
    return 'busy';
  }

  /** Takes the lease for a version that was read after the look. @throws Problem why no version may be sent */
  async function takeLease(progress: Progress, view: View, step: Step<unknown>): Promise<Turn<never>> {
    const { call } = progress;
    const { seen, record, at, leaseIsOver } = view;
    const choose = async (readSince: number) =>
      chooseVersion(call, await readVersions(dependencies, call, record, readSince), record, now());
    // Too little time to read the secret is no failure of Secrets Manager.
    const isTooLate = () => call.deadline - now() < MIN_REQUEST_MS;
    if (isTooLate()) return 'wait';
    // Checks the cached secret first: if its version is latched or held, fails without reading Secrets Manager.
    await choose(progress.readSince);
    const chosen = await choose(at);
    if (isTooLate()) return 'wait';

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
    if (table === undefined) return sendRequest(progress, { record: next, tag: undefined }, request);
    if (!leaseIsOver) return 'wait';
    progress.unconfirmed.set(lease.id, request);
    const written = await replace(progress, table, next, call.deadline);
    return typeof written === 'object' ? sendRequest(progress, written, request) : written;
  }

  /** SEND: makes the one token request of a lease. A defect from here on leaves the lease, which expires by itself. */
  async function sendRequest(progress: Progress, taken: TaggedRecord, request: LeasedRequest): Promise<Turn<never>> {
    const { call, sent } = progress;
    const { lease, record } = request;
    const { versionId: version, stage } = request.version;
    const failed = (problem: Problem) => ({ kind: 'failed', problem, version: request.version }) as const;
    progress.unconfirmed.set(lease.id, undefined);
    const deadline = Math.min(requestEnd(lease.until, call.deadline), now() + request.timeoutMs);
    if (deadline - now() < MIN_REQUEST_MS || sent.has(version)) return 'wait';
    sent.set(version, { count: 1, at: now(), by: lease.id });
    if (call.stage === undefined && stage === 'AWSPREVIOUS') call.trace.warnings.add('previous-version');
    const outcome = outcomeOf(call, request, await obtainToken(call, request, deadline), now());
    await settle(progress, taken, request, outcome);
    if (outcome.kind === 'failed') return failed(waitProblem(outcome.wait, now(), outcome.cause));
    if (outcome.kind === 'rejected') {
      progress.readSince = now();
      progress.isPatient = false;
      return now() < call.deadline ? 'again' : failed(rejectedProblem(call.pair, version));
    }
    const { token, isPublished } = outcome;
    // Another token must stay in the table, so this token serves only this instance.
    if (!isPublished && !isTrial(call)) memory.keepOwn(call.pair, { ...record, token });
    if (isIssuable(token, now())) return { kind: 'token', token, version: request.version };
    const frozen = 'The token ended before it could be issued.';
    return failed(new Problem('token-endpoint-timeout', frozen, { retryAfterSeconds: 1 }));
  }

  /** SETTLE: writes the outcome into the record of the lease's own write, or keeps what the table does not take. */
  async function settle(progress: Progress, taken: TaggedRecord, { lease, isShared }: LeasedRequest, outcome: Outcome) {
    const { call } = progress;
    const isRejected = outcome.kind === 'rejected';
    const lastEnd = isRejected ? lastWriteEnd(call.deadline) : writeEnd(lease.until, call.deadline);
    const end = isShared ? lastEnd : Math.min(lastEnd, now() + LONE_SETTLE_MS);
    const change = ({ record }: TaggedRecord) => settled(record, lease.id, outcome);
    // The service counts every rejection, so the table must too.
    if ((isShared || isRejected) && (await write(progress, isShared ? taken : undefined, change, end))) return;
    // Another instance may withdraw or replace the table's token, so the instance remembers only its own.
    const own = change(taken);
    memory.keepOutcome(call.pair, own.token === taken.record.token ? { ...own, token: undefined } : own, outcome);
  }

  /** Writes a change, pauses while the table is busy, and reads again after another write. Returns the success. */
  async function write(progress: Progress, first: TaggedRecord | undefined, change: Change, end: number) {
    const { call } = progress;
    for (let seen = first; now() < end; ) {
      const told = await (seen
        ? replace(progress, seen, change(seen), end)
        : ask(call, () => store.read(call.pair, end)));
      if (told === 'again') return false;
      if (told === 'busy') await sleep(Math.max(0, Math.min(SETTLE_POLL_MS * (1 + random()), end - now())));
      else if (seen && told !== 'wait') return true;
      else seen = told === 'wait' ? undefined : told;
    }
    return false;
  }

  async function replace(progress: Progress, seen: TaggedRecord, next: PairRecord, end: number): Promise<Told> {
    const { call } = progress;
    if (next === seen.record) return seen;
    const told = await ask(call, () => store.replace(call.pair, seen, next, end), true);
    if (told === 'again') progress.unanswered += 1;
    return told;
  }

  async function ask(call: Call, work: Parameters<PairMemory['remember']>[1], isWrite = false): Promise<Told> {
    try {
      return (await memory.remember(call.pair, work, isWrite)) ?? 'wait';
    } catch (error) {
      if (!(error instanceof StoreUnavailable || error instanceof StoreBusy)) throw error;
      const isBusy = error instanceof StoreBusy;
      call.trace.warnings.add(isBusy ? 'table-busy' : 'table-unavailable');
      return isBusy ? 'busy' : 'again';
    }
  }

  async function poll(progress: Progress): Promise<void> {
    const pollMs = Math.min(MAX_POLL_MS, FIRST_POLL_MS * 2 ** progress.polls++) * (1 + random()) * 0.5;
    // Wakes when the lease ends, at a random moment, so that waiting calls do not ask the table all at once.
    const leftMs = (progress.watched?.until ?? 0) - now();
    const wakeMs = (leftMs > 0 ? leftMs : Infinity) + random() * FIRST_POLL_MS;
    await sleep(Math.max(0, Math.min(pollMs, wakeMs, progress.call.deadline - now())));
  }
}

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
