import type { SecretCache } from '../credential/secret.ts';
import { Problem } from '../problem.ts';
import { type Call, isTrial, type LeasedRequest, type Progress, startProgress } from './call.ts';
import { chooseVersion, readVersions } from './choose-version.ts';
import { lastWriteEnd, leaseMs, MIN_REQUEST_MS, requestEnd, watch, writeEnd } from './deadlines.ts';
import type { Step, View } from './decision.ts';
import type { PairMemory } from './memory.ts';
import type { ObtainToken } from './obtain-token.ts';
import { type Outcome, outcomeOf } from './outcome.ts';
import type { PairRecord, StoredToken } from './record.ts';
import { foreignToken, isIssuable, isProven, waitProblem, withoutFutureTimes } from './record.ts';
import { type PairStore, type TaggedRecord, whenAvailable } from './store.ts';
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

/** The end of one turn of the loop: an answer, a token, a failed request, or a reason to look again. */
type Turn<Answer> =
  | { readonly kind: 'answer'; readonly answer: Answer }
  | { readonly kind: 'token'; readonly token: StoredToken }
  | { readonly kind: 'failed'; readonly problem: Problem; readonly version: string }
  | typeof WAIT
  | typeof AGAIN;

/**
 * Gets a token or an answer for a call. ACQUIRE looks at the shared record, lets the call decide, and takes the lease. SEND
 * makes the one token request that the lease allows. SETTLE writes the outcome. Without the shared store the instance is
 * alone and uses its own record.
 */
export function createAcquireToken(dependencies: Dependencies) {
  const { store, memory, obtainToken, uniqueId, now, sleep, random } = dependencies;

  /** @throws Problem why there is neither an answer nor a token */
  return async <Answer>(call: Call, decide: (view: View) => Step<Answer>) => {
    const progress = startProgress(call, now());
    while (now() < call.deadline) {
      const end = await turn(progress, decide);
      if (end.kind === 'wait') await poll(progress);
      else if (end.kind !== 'again') return end;
    }
    throw new Problem('token-endpoint-timeout', 'No token came in time.', { retryAfterSeconds: 1 });
  };

  /** ACQUIRE: looks, decides and acts once. */
  async function turn<Answer>(progress: Progress, decide: (view: View) => Step<Answer>): Promise<Turn<Answer>> {
    const view = await look(progress);
    if (view === undefined) return WAIT;
    const { seen } = view;
    // The write of this call's lease may have gone unanswered and arrived all the same.
    const confirmed = progress.unconfirmed.get(seen?.record.lease?.id ?? '');
    if (seen !== undefined && confirmed !== undefined && !seen.record.disabled) {
      return requestUnderLease(progress, seen, confirmed);
    }

    const step = decide(view);
    switch (step.kind) {
      case 'answer':
      case 'wait':
        return step;
      case 'withdraw': {
        const written = seen && (await replace(progress, seen, withdrawn(seen.record), progress.call.deadline));
        return written === undefined || written.kind === 'written' ? { kind: 'answer', answer: step.answer } : written;
      }
      case 'request':
        return takeLease(progress, view, step);
      case 'renew': {
        // The living token serves, so a failed renewal does not matter to the caller.
        const end = await takeLease(progress, view, step).catch(waitAfterProblem);
        // Remembers the attempt locally. Without a lease the table has no trace of it, and renewals would not back off.
        const trace = { attemptedAt: view.at };
        memory.keepOwn(progress.call.pair, trace);
        const rest = end.kind === 'token' ? end : decide({ ...view, record: { ...view.record, ...trace } });
        return rest.kind === 'answer' ? rest : end;
      }
    }
  }

  /** Everything that is known now; `undefined` while the store is silent and a lease that was seen can still live. */
  async function look(progress: Progress): Promise<View | undefined> {
    const { call, unconfirmed, sent } = progress;
    const seen = progress.unanswered > 1 ? undefined : await read(call, call.deadline);
    const lease = seen?.record.lease;
    const leaseOfOther = unconfirmed.has(lease?.id ?? '') ? undefined : lease;
    if (seen !== undefined) progress.watched = watch(progress.watched, leaseOfOther, leaseMs(call.service), now());
    const leaseIsOver = leaseLeftMs(progress) === 0;
    if (seen === undefined && !leaseIsOver) return undefined;
    const at = now();
    const known = memory.withOwn(call.pair, seen?.record);
    // Counts each version that this call has sent as latched. The table may confirm a write and forget it.
    const record = withoutFutureTimes({ ...known, rejected: new Map([...known.rejected, ...sent]) }, at);
    const isOwnToken = record.token !== undefined && record.token !== seen?.record.token;
    const isAlone = seen === undefined || isOwnToken || foreignToken(seen.record, at) !== undefined;
    const isCheck = call.stage !== undefined;
    // A check sends the version that it decides on, so it reads the secret after the look, unless it must wait.
    const checkSince = leaseIsOver ? at : progress.readSince;
    const readSince = isCheck ? checkSince : at - ALONE_TRUST_MS;
    const versions = isCheck || isAlone ? await readVersions(dependencies, call, record, readSince) : undefined;
    return { seen, at, record, isAlone, versions, leaseIsOver };
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
    // Next to a token that must stay, a proven version needs no lease. Any other version needs a lease, or the fleet locks the
    // account. A trial needs a lease too, because the table has the budget of trials.
    const isFree = seen && !isTrial(call) && isProven(seen.record, version) && foreignToken(seen.record, now());
    const table = isFree ? undefined : seen;
    const before = table?.record ?? record;
    const next = leased(before, lease, { version, forced, isCheck: call.stage !== undefined }, now());
    // A renewal usually has one second. Many services take longer to reject, and a rejection that the broker did not wait for
    // is not counted: a version that is not proven, or whose last request brought no answer, has the whole time.
    const isQuick = step.kind === 'renew' && isProven(before, version) && !before.pause?.unheard;
    const timeoutMs = isQuick ? step.timeoutMs : call.service.requestTimeoutMs;
    const request = { ...chosen, lease, record: before, forced, timeoutMs, isShared: table !== undefined };
    if (table === undefined) return requestUnderLease(progress, { record: next, tag: undefined }, request);
    if (!leaseIsOver) return WAIT;
    progress.unconfirmed.set(lease.id, request);
    const written = await replace(progress, table, next, call.deadline);
    return written.kind === 'written' ? requestUnderLease(progress, written.seen, request) : written;
  }

  /**
   * SEND: makes the one token request of a lease. After a defect from here on the lease expires by itself, so the fleet still makes
   * one request per lease.
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
        return AGAIN;
      case 'failed':
        return { kind: 'failed', problem: waitProblem(outcome.wait, now(), outcome.cause), version: versionId };
      case 'accepted': {
        const { token, isPublished } = outcome;
        // Another token must stay in the table, so this token serves only this instance.
        if (!isPublished && !isTrial(call)) memory.keepOwn(call.pair, { ...record, token });
        if (isIssuable(token, now())) return { kind: 'token', token };
        const problem = new Problem('token-endpoint-timeout', FROZEN, { retryAfterSeconds: 1 });
        return { kind: 'failed', problem, version: versionId };
      }
    }
  }

  /**
   * SETTLE: writes the outcome into the record that the lease's own write returned. When another write came first, reads the
   * record again. An outcome that the table does not take is remembered locally.
   */
  async function settle(progress: Progress, taken: TaggedRecord, request: LeasedRequest, outcome: Outcome) {
    const { call } = progress;
    const { lease, isShared } = request;
    const isRejected = outcome.kind === 'rejected';
    const end = isRejected ? lastWriteEnd(call.deadline) : writeEnd(lease.until, call.deadline);
    let seen = isShared ? taken : undefined;
    // The service counts every rejection, so the table must too.
    if (!isShared && isRejected) seen = await read(call, end);
    while (seen !== undefined && now() < end) {
      const next = settled(seen.record, lease.id, outcome);
      if (next === seen.record) return;
      const written = await replace(progress, seen, next, end);
      if (written.kind === 'written') return;
      if (written.kind === 'again') break;
      seen = await read(call, end);
    }
    memory.keepOutcome(call.pair, settled(taken.record, lease.id, outcome), outcome);
  }

  function read({ pair, trace }: Call, end: number): Promise<TaggedRecord | undefined> {
    return whenAvailable(trace, () => memory.remember(pair, () => store.read(pair, end)), undefined);
  }

  /** Waits after another write came first. Looks again when the store does not answer: the write may or may not happen. */
  async function replace(progress: Progress, seen: TaggedRecord, next: PairRecord, end: number) {
    const { pair, trace } = progress.call;
    const write = () => memory.remember(pair, () => store.replace(pair, seen, next, end), true);
    const written = await whenAvailable(trace, write, 'unanswered' as const);
    if (written === undefined) return WAIT;
    if (written !== 'unanswered') return { kind: 'written', seen: written } as const;
    progress.unanswered += 1;
    return AGAIN;
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
const AGAIN = { kind: 'again' } as const;
const FROZEN = 'The token ended before it could be issued.';

/** The first and the longest time between two polls of a waiting call. */
const FIRST_POLL_MS = 50;
const MAX_POLL_MS = 500;

/** An instance that is alone notices within this time that the secret was taken away. */
const ALONE_TRUST_MS = 60_000;
