import type { SecretVersion } from '../credential/secret.ts';
import { Problem } from '../problem.ts';
import { type Call, isTrial, type LeasedRequest, type Progress, startProgress } from './call.ts';
import { chooseVersion, goneProblem, readVersions, rejectedProblem, type SecretSource } from './choose-version.ts';
import { lastWriteEnd, leaseMs, MIN_REQUEST_MS, requestEnd, watch, writeEnd } from './deadlines.ts';
import type { Step, View } from './decision.ts';
import type { PairMemory } from './memory.ts';
import type { ObtainToken } from './obtain-token.ts';
import { type Outcome, outcomeOf } from './outcome.ts';
import { isIssuable, isProven, type PairRecord, type StoredToken, waitProblem, withoutFutureTimes } from './record.ts';
import { type CallTerms, type PairStore, StoreUnavailable, type TaggedRecord, tableProblem } from './store.ts';
import { leased, settled, withdrawn } from './transitions.ts';

interface Dependencies extends SecretSource {
  readonly store: PairStore;
  readonly obtainToken: ObtainToken;
  readonly uniqueId: () => string;
  readonly sleep: (ms: number) => Promise<void>;
  readonly random: () => number;
}

type Decide<Answer> = (view: View) => Step<Answer>;

/** The result of one turn of the loop: an answer, a token, a failed request, or when to look again. */
type Turn<Answer> =
  | { readonly kind: 'answer'; readonly answer: Answer }
  | { readonly kind: 'token'; readonly token: StoredToken; readonly version: SecretVersion }
  | { readonly kind: 'failed'; readonly problem: Problem; readonly version: SecretVersion }
  | 'again'
  | 'wait';

/** The result of a call of the store. `overtaken`: another write came first. `failed`: see `Progress`. */
type StoreResult = TaggedRecord | 'overtaken' | 'failed';

/** What the table shows a call, and when the call looked. */
type TableView = View & { readonly seen: TaggedRecord; readonly at: number };

/**
 * Gets a token or an answer for a call. ACQUIRE looks at the shared record, lets the call decide, and takes the lease.
 * SEND makes the one token request that the lease allows. SETTLE writes the outcome. Without the table nothing is sent.
 */
export function createAcquireToken(dependencies: Dependencies) {
  const { store, memory, obtainToken, uniqueId, now, sleep, random } = dependencies;

  /** @throws Problem why there is neither an answer nor a token */
  return async <Answer>(call: Call, decide: Decide<Answer>) => {
    const progress = startProgress(call, now());
    while (now() < call.deadline) {
      const result = await turn(progress, decide);
      if (typeof result === 'object') return result;
      if (result === 'wait') await poll(progress);
    }
    if (progress.failure !== undefined) throw tableProblem(progress.failure);
    throw new Problem('token-endpoint-timeout', 'No token came in time.', { retryAfterSeconds: 1 });
  };

  /** ACQUIRE: looks, decides and acts once. */
  async function turn<Answer>(progress: Progress, decide: Decide<Answer>): Promise<Turn<Answer>> {
    const { call, unconfirmed } = progress;
    const seen = await ask(progress, () => store.read(call.pair, call));
    if (typeof seen === 'string') return decideWithoutTable(progress, decide);
    // The write of this call's lease may have gone unanswered and arrived all the same.
    const confirmed = unconfirmed.get(seen.record.lease?.id ?? '');
    if (confirmed && !seen.record.disabled) return sendRequest(progress, seen, confirmed);

    const view = await look(progress, seen);
    const step = decide(view);
    switch (step.kind) {
      case 'answer':
        return step;
      case 'wait':
        progress.failure = undefined;
        return 'wait';
      case 'withdraw':
        return withdraw(progress, seen, step.answer);
      case 'request':
        return takeLease(progress, view, step);
      case 'renew':
        return renew(progress, view, step, decide);
    }
  }

  /** Returns everything that is known about the record that the table returned. */
  async function look(progress: Progress, seen: TaggedRecord): Promise<TableView> {
    const { call, unconfirmed, readSince } = progress;
    const { lease } = seen.record;
    const leaseOfOther = unconfirmed.has(lease?.id ?? '') ? undefined : lease;
    progress.watched = watch(progress.watched, leaseOfOther, leaseMs(call.service), now());
    const at = now();
    const leaseIsOver = (progress.watched?.until ?? 0) <= at;
    const attemptedAt = Math.max(seen.record.attemptedAt, memory.last(call.pair).attemptedAt);
    const record = withSent(progress, { ...seen.record, attemptedAt });
    // A check sends the version that it decides on, so it reads the secret after the look, unless it must wait.
    const bounds = { readSince: leaseIsOver ? at : readSince };
    const versions = call.stage && (await readVersions(dependencies, call, record, bounds));
    return { seen, at, record, cache: 'shared', versions, leaseIsOver };
  }

  /** Counts each version that this call has sent as latched. The table may confirm a write and forget it. */
  function withSent({ sent }: Progress, record: PairRecord): PairRecord {
    return withoutFutureTimes({ ...record, rejected: new Map([...record.rejected, ...sent]) }, now());
  }

  /** Answers from what memory and this call know, or lets the call wait. Sends nothing and takes no lease. */
  async function decideWithoutTable<Answer>(progress: Progress, decide: Decide<Answer>): Promise<Turn<Answer>> {
    const { call, sent, readSince } = progress;
    const record = withSent(progress, memory.recall(call.pair));
    const { disabled, token, rejected, held, pause } = record;
    const isUnknown = !disabled && !token && !pause && rejected.size + held.size === 0;
    if (isUnknown || (isTrial(call) && sent.size === 0)) return waitForTable(progress);
    // A flag needs no secret.
    const bounds = { readSince: Math.max(readSince, now() - SECRET_TRUST_MS), acceptsSilence: true };
    const versions = disabled ? undefined : await readVersions(dependencies, call, record, bounds);
    if (versions && goneProblem(versions, call.pair)?.type === 'secrets-unavailable') return waitForTable(progress);
    const step = decide({ record, cache: 'memory', versions, leaseIsOver: false });
    if (step.kind === 'answer') return step;
    const isSilent = versions?.candidates.some(({ outcome }) => outcome === 'unavailable');
    // A check has all its findings from `decide`.
    if (versions && !isSilent && call.stage === undefined) chooseVersion(call, versions, record, now());
    return waitForTable(progress);
  }

  /** Lets the call look again, unless the table fails for longer. @throws Problem `table-unavailable` */
  function waitForTable({ failure }: Progress): 'wait' {
    if (failure?.kind === 'lasting') throw tableProblem(failure);
    return 'wait';
  }

  async function withdraw<Answer>(progress: Progress, seen: TaggedRecord, answer: Answer): Promise<Turn<Answer>> {
    const result = await replace(progress, seen, withdrawn(seen.record));
    return typeof result === 'object' ? { kind: 'answer', answer } : waitForTable(progress);
  }

  /** Tries to replace the living token. The living token serves, so a failure does not matter to the caller. */
  async function renew<Answer>(progress: Progress, view: TableView, step: Step<Answer>, decide: Decide<Answer>) {
    const { pair } = progress.call;
    const result = await takeLease(progress, view, step).catch((error: unknown) => {
      if (error instanceof Problem) return 'wait' as const;
      throw error;
    });
    if (typeof result === 'object' && result.kind === 'token') return result;
    memory.noteTry(pair);
    // Another call of the instance may have seen an operator's flag meanwhile.
    const rest = decide({ ...view, record: withSent(progress, memory.last(pair)) });
    return rest.kind === 'answer' ? rest : result;
  }

  /** Takes the lease for a version that was read after the look. @throws Problem why no version may be sent */
  async function takeLease(progress: Progress, view: TableView, step: Step<unknown>): Promise<Turn<never>> {
    const { call, readSince } = progress;
    const { seen, record, at } = view;
    const choose = async (since: number) =>
      chooseVersion(call, await readVersions(dependencies, call, record, { readSince: since }), record, now());
    // Too little time to read the secret is no failure of Secrets Manager.
    const isTooLate = () => call.deadline - now() < MIN_REQUEST_MS;
    if (isTooLate()) return 'wait';
    // Checks the cached secret first: if its version is latched or held, fails without reading Secrets Manager.
    await choose(readSince);
    const chosen = await choose(at);
    if (isTooLate()) return 'wait';

    const { versionId: version } = chosen.version;
    const lease = { id: uniqueId(), until: now() + leaseMs(call.service) };
    const forced = step.kind === 'request' && step.forced;
    const next = leased(seen.record, lease, { version, forced, isCheck: call.stage !== undefined }, now());
    // A renewal usually has one second. Many services take longer to reject, and an unheard rejection is not
    // counted. So a version that is not proven, or whose last request brought no answer, has the whole time.
    const isQuick = step.kind === 'renew' && isProven(seen.record, version) && !seen.record.pause?.unheard;
    const timeoutMs = isQuick ? step.timeoutMs : call.service.requestTimeoutMs;
    const request = { ...chosen, lease, record: seen.record, forced, timeoutMs };
    progress.unconfirmed.set(lease.id, request);
    const result = await replace(progress, seen, next);
    return typeof result === 'object' ? sendRequest(progress, result, request) : waitForTable(progress);
  }

  /** SEND: makes the one token request of a lease. A defect from here on leaves the lease, which expires by itself. */
  async function sendRequest(progress: Progress, taken: TaggedRecord, request: LeasedRequest): Promise<Turn<never>> {
    const { call, sent } = progress;
    const { lease } = request;
    const { versionId: version, stage } = request.version;
    const failed = (problem: Problem) => ({ kind: 'failed', problem, version: request.version }) as const;
    progress.unconfirmed.set(lease.id, undefined);
    const deadline = Math.min(requestEnd(lease.until, call.deadline), now() + request.timeoutMs);
    if (deadline - now() < MIN_REQUEST_MS || sent.has(version)) return 'wait';
    sent.set(version, { count: 1, at: now(), by: lease.id });
    if (call.stage === undefined && stage === 'AWSPREVIOUS') call.trace.warnings.add('previous-version');
    const outcome = outcomeOf(call, request, await obtainToken(call, request, deadline), now());
    await settle(progress, taken, lease, outcome);
    if (outcome.kind === 'failed') return failed(waitProblem(outcome.wait, now(), outcome.cause));
    if (outcome.kind === 'accepted') {
      // The instance may have been frozen for longer than the token lives.
      const { token } = outcome;
      return isIssuable(token, now()) ? { kind: 'token', token, version: request.version } : 'wait';
    }
    progress.readSince = now();
    if (now() < call.deadline) return 'again';
    return failed(rejectedProblem(call.pair, request.record, version, request.credential));
  }

  /** SETTLE: writes the outcome, first into the record of the lease's own write. Tries until its time is over. */
  async function settle(progress: Progress, taken: TaggedRecord, lease: LeasedRequest['lease'], outcome: Outcome) {
    const { pair, deadline } = progress.call;
    // The service counts every rejection, so the table must too.
    const until = outcome.kind === 'rejected' ? lastWriteEnd(deadline) : writeEnd(lease.until, deadline);
    const terms = { deadline: until, settles: true };
    for (let seen: TaggedRecord | undefined = taken; now() < until; ) {
      const result: StoreResult = seen
        ? await replace(progress, seen, settled(seen.record, lease.id, outcome), terms)
        : await ask(progress, () => store.read(pair, terms));
      if (result === 'failed') await sleep(Math.max(0, Math.min(SETTLE_POLL_MS * (1 + random()), until - now())));
      else if (result === 'overtaken') seen = undefined;
      else if (seen !== undefined) return;
      else seen = result;
    }
  }

  async function replace(progress: Progress, seen: TaggedRecord, next: PairRecord, terms: CallTerms = progress.call) {
    if (next === seen.record) return seen;
    const result = await ask(progress, () => store.replace(progress.call.pair, seen, next, terms));
    if (result !== 'failed') progress.failure = undefined;
    return result;
  }

  async function ask(progress: Progress, work: Parameters<PairMemory['remember']>[1]): Promise<StoreResult> {
    const { pair, trace } = progress.call;
    try {
      return (await memory.remember(pair, work)) ?? 'overtaken';
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error;
      trace.warnings.add(error.kind === 'busy' ? 'table-busy' : 'table-unavailable');
      progress.failure = error;
      return 'failed';
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
/** Repeated writes of an outcome are this far apart, and up to twice as far, while the store does not answer. */
const SETTLE_POLL_MS = 50;
/** Without the table an instance notices within this time that the secret was taken away. */
const SECRET_TRUST_MS = 60_000;
