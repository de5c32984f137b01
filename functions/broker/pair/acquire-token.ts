import { Problem } from '../problem.ts';
import type { Call } from './call.ts';
import { readVersions } from './choose-version.ts';
import { FIRST_POLL_MS, leaseMs, MAX_POLL_MS } from './deadlines.ts';
import type { Decide, View } from './decision.ts';
import { createLeaseWatch, type LeaseWatch } from './lease-watch.ts';
import { type AttemptOutcome, type Attempts, createLeasedRequest, type LeaseDependencies } from './leased-request.ts';
import { foreignToken, withoutFutureTimes } from './record.ts';
import { type Seen, whenAvailable } from './store.ts';
import { withdrawn } from './transitions.ts';

interface Dependencies extends LeaseDependencies {
  readonly sleep: (ms: number) => Promise<void>;
  readonly random: () => number;
}

/** The end of a call: an answer that `decide` gave, or the outcome of the call's own token request. */
type Acquired<Answer> =
  | { readonly kind: 'answer'; readonly answer: Answer }
  | Extract<AttemptOutcome, { readonly kind: 'token' | 'failed' }>;

/**
 * Looks at the shared record, lets `decide` choose the next step, takes it, and looks again, until there is an answer or a token.
 * Without the shared store the instance goes by its own knowledge.
 */
export function createAcquireToken(dependencies: Dependencies) {
  const { store, memory, now, sleep, random } = dependencies;
  const { attempt, send } = createLeasedRequest(dependencies);

  /** @throws Problem why there is none of these */
  return async <Answer>(call: Call, decide: Decide<Answer>): Promise<Acquired<Answer>> => {
    const watch = createLeaseWatch(leaseMs(call.service), now);
    const attempts: Attempts = { asked: new Map(), sent: new Set() };
    let readSince = call.stage === undefined ? -Infinity : call.startedAt;
    let mayRenew = true;
    let unanswered = 0;
    let polls = 0;

    while (now() < call.deadline) {
      const view = await look(call, watch, { readSince, mayRenew, isCutOff: unanswered > 1 }, attempts);
      // A lease whose write went unanswered may be this call's all the same.
      const { lease, disabled } = view?.seen?.record ?? {};
      const arrived = disabled ? undefined : attempts.asked.get(lease?.id ?? '');
      const step = view === undefined ? WAIT : (arrived?.step ?? decide(view));
      if (step.kind === 'answer') return step;
      if (step.kind === 'fail') throw step.problem;
      if (view === undefined || step.kind === 'wait') {
        await poll(call, polls++, watch.remainingMs());
        continue;
      }
      if (step.kind === 'withdraw') {
        const left = view.seen && (await withdraw(call, view.seen));
        if (view.seen === undefined || left === 'done') return { kind: 'answer', answer: step.answer };
        if (left === 'unanswered') unanswered += 1;
        continue;
      }

      const isTaken = arrived !== undefined && view.seen !== undefined;
      const trying = isTaken
        ? send(call, view.seen, arrived, attempts)
        : attempt(call, view, step, readSince, attempts);
      // While another token serves, no failure of its renewal matters to the caller.
      const outcome = await (step.kind === 'renew' ? trying.catch(lostFor) : trying);
      if (outcome.kind === 'token') return outcome;
      if (step.kind === 'renew') {
        mayRenew = false;
        const rest = decide({ ...view, mayRenew });
        if (rest.kind === 'answer') return rest;
      }
      if (outcome.kind === 'failed') return outcome;
      if (outcome.kind === 'unanswered') unanswered += 1;
      if (outcome.kind === 'rejected') readSince = now();
      if (outcome.kind === 'lost') await poll(call, polls++);
    }
    throw new Problem('token-endpoint-timeout', 'No token came in time.', { retryAfterSeconds: 1 });
  };

  /** All that is known now; `undefined` while the store is silent and a lease that was seen can still live. */
  async function look(
    call: Call,
    watch: LeaseWatch,
    { readSince, mayRenew, isCutOff }: { readSince: number; mayRenew: boolean; isCutOff: boolean },
    { asked, sent }: Attempts,
  ): Promise<View | undefined> {
    const seen = isCutOff ? undefined : await readRecord(call);
    if (seen === undefined && watch.remainingMs() > 0) return undefined;
    const lease = seen?.record.lease;
    const leaseOfOther = asked.has(lease?.id ?? '') ? undefined : lease;
    if (seen !== undefined) watch.see(leaseOfOther);
    const at = now();
    const record = withoutFutureTimes(memory.withOwn(call.pair, seen?.record ?? memory.last(call.pair)), at);
    const isOwnToken = record.token !== undefined && record.token !== seen?.record.token;
    const isAlone = seen === undefined || isOwnToken || foreignToken(seen.record, at) !== undefined;
    const since = isAlone ? Math.max(readSince, at - ALONE_TRUST_MS) : readSince;
    const isNeeded = isAlone || call.stage !== undefined;
    const versions = isNeeded ? await readVersions(dependencies, call, record, sent, since) : undefined;
    return { seen, at, record, isAlone, versions, leaseIsOver: watch.isOver(leaseOfOther), mayRenew };
  }

  async function readRecord({ pair, deadline, trace }: Call): Promise<Seen | undefined> {
    const began = memory.begin();
    const seen = await whenAvailable(trace, () => store.read(pair, deadline));
    if (seen === 'unavailable') return undefined;
    memory.remember(pair, seen.record, began);
    return seen;
  }

  /** Takes the token away, unless another write came first. */
  async function withdraw({ pair, deadline, trace }: Call, seen: Seen): Promise<'done' | 'lost' | 'unanswered'> {
    const began = memory.begin();
    const left = await whenAvailable(trace, () => store.replace(pair, seen, withdrawn(seen.record), deadline));
    if (left === 'unavailable') return 'unanswered';
    if (left === undefined) return 'lost';
    memory.remember(pair, left.record, began, true);
    return 'done';
  }

  async function poll(call: Call, polls: number, leaseLeftMs = Infinity): Promise<void> {
    const pollMs = Math.min(MAX_POLL_MS, FIRST_POLL_MS * 2 ** polls) * (1 + random()) * 0.5;
    // No call sleeps on when the lease ends; not all wake at once.
    const wakeMs = leaseLeftMs + random() * FIRST_POLL_MS;
    await sleep(Math.max(0, Math.min(pollMs, wakeMs, call.deadline - now())));
  }
}

function lostFor(error: unknown): AttemptOutcome {
  if (error instanceof Problem) return { kind: 'lost' };
  throw error;
}

const WAIT = { kind: 'wait' } as const;

/** An instance that is alone must notice within this time that the secret was taken away. */
const ALONE_TRUST_MS = 60_000;
