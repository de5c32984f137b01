import type { SecretCache } from '../credential/secret.ts';
import { Problem } from '../problem.ts';
import { type Attempt, type Call, isTrial, type Progress, withProgress } from './call.ts';
import { chooseVersion, readVersions } from './choose-version.ts';
import { lastWriteEnd, leaseMs, MIN_REQUEST_MS, requestEnd, watch, writeEnd } from './deadlines.ts';
import type { Step, View } from './decision.ts';
import type { PairMemory } from './memory.ts';
import type { RenewToken } from './obtain-token.ts';
import { type Outcome, outcomeOf } from './outcome.ts';
import type { PairRecord, StoredToken } from './record.ts';
import { foreignToken, isIssuable, isProven, waitProblem, withoutFutureTimes } from './record.ts';
import { type PairStore, type Seen, whenAvailable } from './store.ts';
import { leased, settled, withdrawn } from './transitions.ts';

interface Dependencies {
  /** Part of the names of secrets. */
  readonly environment: string;
  readonly store: PairStore;
  readonly memory: PairMemory;
  readonly secrets: SecretCache;
  readonly renewToken: RenewToken;
  readonly uniqueId: () => string;
  readonly now: () => number;
  readonly sleep: (ms: number) => Promise<void>;
  readonly random: () => number;
}

/** How one turn of the loop ends: the call has its answer or a token, a version was sent in vain, or the call has to look again. */
type Turn<Answer> =
  | { readonly kind: 'answer'; readonly answer: Answer }
  | { readonly kind: 'token'; readonly token: StoredToken }
  | { readonly kind: 'failed'; readonly problem: Problem; readonly version: string }
  | typeof WAIT
  | typeof AGAIN;

/**
 * Gets a token for a call, or an answer: ACQUIRE looks at the shared record, lets the call decide, and takes the lease; SEND
 * makes the one token request that the lease allows; SETTLE writes the outcome. Without the shared store the instance goes by
 * its own knowledge.
 */
export function createAcquireToken(dependencies: Dependencies) {
  const { store, memory, renewToken, uniqueId, now, sleep, random } = dependencies;

  /** @throws Problem why there is neither an answer nor a token */
  return async <Answer>(asked: Call, decide: (view: View) => Step<Answer>) => {
    const call = withProgress(asked, now());
    while (now() < call.deadline) {
      const end = await turn(call, decide);
      if (end.kind === 'wait') await poll(call);
      else if (end.kind !== 'again') return end;
    }
    throw new Problem('token-endpoint-timeout', 'No token came in time.', { retryAfterSeconds: 1 });
  };

  /** ACQUIRE: looks, decides and acts once. */
  async function turn<Answer>(call: Progress, decide: (view: View) => Step<Answer>): Promise<Turn<Answer>> {
    const view = await look(call);
    if (view === undefined) return WAIT;
    const { seen } = view;
    // A lease whose write went unanswered may be this call's all the same.
    const arrived = call.attempts.get(seen?.record.lease?.id ?? '');
    if (seen !== undefined && arrived !== undefined && !seen.record.disabled) return send(call, seen, arrived);

    const step = decide(view);
    switch (step.kind) {
      case 'answer':
      case 'wait':
        return step;
      case 'withdraw': {
        const left = seen && (await replace(call, seen, withdrawn(seen.record), call.deadline));
        return left !== undefined && 'kind' in left ? left : { kind: 'answer', answer: step.answer };
      }
      case 'request':
        return attempt(call, view, step);
      case 'renew': {
        // While another token serves, no failure of its renewal matters to the caller.
        const end = await attempt(call, view, step).catch(waitAfterProblem);
        // The table does not tell of an attempt that got no lease; an attempt makes the next renewal wait for longer than a call.
        const attempted = { attemptedAt: view.at };
        memory.keepOwn(call.pair, attempted);
        const rest = end.kind === 'token' ? end : decide({ ...view, record: { ...view.record, ...attempted } });
        return rest.kind === 'answer' ? rest : end;
      }
    }
  }

  /** All that is known now; `undefined` while the store is silent and a lease that was seen can still live. */
  async function look(call: Progress): Promise<View | undefined> {
    const { pair, attempts, sent } = call;
    const seen = call.unanswered > 1 ? undefined : await read(call, call.deadline);
    const lease = seen?.record.lease;
    const leaseOfOther = attempts.has(lease?.id ?? '') ? undefined : lease;
    if (seen !== undefined) call.watched = watch(call.watched, leaseOfOther, leaseMs(call.service), now());
    const leaseIsOver = leaseLeftMs(call) === 0;
    if (seen === undefined && !leaseIsOver) return undefined;
    const at = now();
    const known = memory.withOwn(pair, seen?.record);
    // This call counts each version that it has sent as latched: the table may confirm writes and forget them.
    const record = withoutFutureTimes({ ...known, rejected: new Map([...known.rejected, ...sent]) }, at);
    const isOwnToken = record.token !== undefined && record.token !== seen?.record.token;
    const isAlone = seen === undefined || isOwnToken || foreignToken(seen.record, at) !== undefined;
    const isCheck = call.stage !== undefined;
    // A check sends what it decides on, so it reads the secret after the look; unless it has to wait.
    const checkSince = leaseIsOver ? at : call.readSince;
    const readSince = isCheck ? checkSince : at - ALONE_TRUST_MS;
    const versions = isCheck || isAlone ? await readVersions(dependencies, call, record, readSince) : undefined;
    return { seen, at, record, isAlone, versions, leaseIsOver };
  }

  /** Takes the lease, for a version of the secret that was read after the look. @throws Problem why none may be sent */
  async function attempt(call: Progress, view: View, step: Step<unknown>): Promise<Turn<never>> {
    const { seen, record, at, leaseIsOver } = view;
    const choose = async (readSince: number) =>
      chooseVersion(call, await readVersions(dependencies, call, record, readSince), record, now());
    // A secret that there is no time to read is not Secrets Manager's failure.
    const isTooLate = () => call.deadline - now() < MIN_REQUEST_MS;
    if (isTooLate()) return WAIT;
    // A latch or a hold is told by the secret of the last minutes.
    await choose(call.readSince);
    const chosen = await choose(at);
    if (isTooLate()) return WAIT;

    const { versionId: version } = chosen.version;
    const lease = { id: uniqueId(), until: now() + leaseMs(call.service) };
    const forced = step.kind === 'request' && step.forced;
    // Beside a token that must stay, a proven version needs no lease; any other does, or a fleet locks the account. A trial
    // does too: the table has the budget of trials.
    const isFree = seen && !isTrial(call) && isProven(seen.record, version) && foreignToken(seen.record, now());
    const table = isFree ? undefined : seen;
    const before = table?.record ?? record;
    const next = leased(before, lease, { version, forced, isCheck: call.stage !== undefined }, now());
    // A renewal has a second, as a rule. A rejection that the broker did not wait for is not counted, and many services take
    // longer than that to say no: a version that is not proven, or whose last request brought no answer, has the whole time.
    const isQuick = step.kind === 'renew' && isProven(before, version) && !before.pause?.unheard;
    const timeoutMs = isQuick ? step.timeoutMs : call.service.requestTimeoutMs;
    const attempted = { ...chosen, lease, record: before, forced, timeoutMs, isShared: table !== undefined };
    if (table === undefined) return send(call, { record: next, tag: undefined }, attempted);
    if (!leaseIsOver) return WAIT;
    call.attempts.set(lease.id, attempted);
    const taken = await replace(call, table, next, call.deadline);
    return 'kind' in taken ? taken : send(call, taken, attempted);
  }

  /** SEND: one token request. A defect from here on leaves the lease: it runs out, so the fleet makes one request per lease. */
  async function send(call: Progress, taken: Seen, attempted: Attempt): Promise<Turn<never>> {
    const { lease, version, record } = attempted;
    const { versionId } = version;
    call.attempts.set(lease.id, undefined);
    const deadline = Math.min(requestEnd(lease.until, call.deadline), now() + attempted.timeoutMs);
    if (deadline - now() < MIN_REQUEST_MS || call.sent.has(versionId)) return WAIT;
    call.sent.set(versionId, { count: 1, at: now(), by: lease.id });
    if (call.stage === undefined && version.stage === 'AWSPREVIOUS') call.trace.warnings.add('previous-version');
    const renewal = await renewToken(call, attempted, deadline);
    const outcome = outcomeOf(call, attempted, renewal, now());
    await settle(call, taken, attempted, outcome);
    switch (outcome.kind) {
      case 'rejected':
        call.readSince = now();
        return AGAIN;
      case 'failed':
        return { kind: 'failed', problem: waitProblem(outcome.wait, now(), outcome.cause), version: versionId };
      case 'accepted': {
        const { token, isPublished } = outcome;
        // The token that is not published, because another must stay, serves this instance.
        if (!isPublished && !isTrial(call)) memory.keepOwn(call.pair, { ...record, token });
        if (isIssuable(token, now())) return { kind: 'token', token };
        const problem = new Problem('token-endpoint-timeout', FROZEN, { retryAfterSeconds: 1 });
        return { kind: 'failed', problem, version: versionId };
      }
    }
  }

  /**
   * SETTLE: writes the outcome into the record that the lease's own write gave; into the one that is read then when another write
   * came first. Where the table does not take it the instance keeps it for itself.
   */
  async function settle(call: Progress, taken: Seen, { lease, isShared }: Attempt, outcome: Outcome): Promise<void> {
    const isRejected = outcome.kind === 'rejected';
    const end = isRejected ? lastWriteEnd(call.deadline) : writeEnd(lease.until, call.deadline);
    let seen = isShared ? taken : undefined;
    // Every rejection is told, because the service counts it.
    if (!isShared && isRejected) seen = await read(call, end);
    while (seen !== undefined && now() < end) {
      const next = settled(seen.record, lease.id, outcome);
      const written = next === seen.record ? seen : await replace(call, seen, next, end);
      if (written === AGAIN) break;
      if (written !== WAIT) return;
      seen = await read(call, end);
    }
    memory.keepOutcome(call.pair, settled(taken.record, lease.id, outcome), outcome);
  }

  function read({ pair, trace }: Call, end: number): Promise<Seen | undefined> {
    return whenAvailable(trace, () => memory.remember(pair, () => store.read(pair, end)), undefined);
  }

  /** `WAIT` when another write came first; `AGAIN` when the store does not say: the write may or may not happen. */
  async function replace(call: Progress, seen: Seen, next: PairRecord, end: number) {
    const { pair, trace } = call;
    const write = () => memory.remember(pair, () => store.replace(pair, seen, next, end), true);
    const written = await whenAvailable(trace, write, AGAIN);
    if (written === AGAIN) call.unanswered += 1;
    return written ?? WAIT;
  }

  /** How long the lease of another call can still be alive, also when the store falls silent. */
  function leaseLeftMs({ watched }: Progress): number {
    return Math.max(0, (watched?.until ?? 0) - now());
  }

  async function poll(call: Progress): Promise<void> {
    const pollMs = Math.min(MAX_POLL_MS, FIRST_POLL_MS * 2 ** call.polls++) * (1 + random()) * 0.5;
    // A waiting call wakes when the lease ends, at a random moment of its own: the table is not asked by all at once.
    const wakeMs = (leaseLeftMs(call) || Infinity) + random() * FIRST_POLL_MS;
    await sleep(Math.max(0, Math.min(pollMs, wakeMs, call.deadline - now())));
  }
}

function waitAfterProblem(error: unknown): typeof WAIT {
  if (error instanceof Problem) return WAIT;
  throw error;
}

const WAIT = { kind: 'wait' } as const;
const AGAIN = { kind: 'again' } as const;
const FROZEN = 'The token ended before it could be issued.';

/** Two polls of a waiting call are this far apart at first, and at most. */
const FIRST_POLL_MS = 50;
const MAX_POLL_MS = 500;

/** An instance that is alone must notice within this time that the secret was taken away. */
const ALONE_TRUST_MS = 60_000;
