import { Problem } from '../problem.ts';
import type { Call } from './call.ts';
import { readVersions } from './choose-version.ts';
import { FIRST_POLL_MS, leaseMs, MAX_POLL_MS } from './deadlines.ts';
import type { Decide, View } from './decision.ts';
import { type AttemptOutcome, type Attempts, createLeasedRequest, type LeaseDependencies } from './leased-request.ts';
import { foreignToken, MAX_CLOCK_DIFFERENCE_MS, type PairRecord, withoutFutureTimes } from './record.ts';
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
  const { attempt, send, replace } = createLeasedRequest(dependencies);

  /** @throws Problem why there is none of these */
  return async <Answer>(call: Call, decide: Decide<Answer>): Promise<Acquired<Answer>> => {
    const progress: Progress = {
      watch: createLeaseWatch(leaseMs(call.service), now),
      attempts: { asked: new Map(), sent: new Set() },
      readSince: call.stage === undefined ? -Infinity : call.startedAt,
      mayRenew: true,
      unanswered: 0,
      polls: 0,
    };
    while (now() < call.deadline) {
      const end = await turn(call, decide, progress);
      if (end !== undefined) return end;
    }
    throw new Problem('token-endpoint-timeout', 'No token came in time.', { retryAfterSeconds: 1 });
  };

  /** Looks, decides and acts once; `undefined`: look again. */
  async function turn<Answer>(
    call: Call,
    decide: Decide<Answer>,
    progress: Progress,
  ): Promise<Acquired<Answer> | undefined> {
    const view = await look(call, progress);
    if (view === undefined) return poll(call, progress, progress.watch.remainingMs());
    const { seen } = view;
    const { attempts, readSince } = progress;
    // A lease whose write went unanswered may be this call's all the same.
    const arrived = attempts.asked.get(seen?.record.lease?.id ?? '');
    if (seen !== undefined && arrived !== undefined && !seen.record.disabled) {
      return afterRequest(call, await send(call, seen, arrived, attempts), progress);
    }

    const step = decide(view);
    switch (step.kind) {
      case 'answer':
        return step;
      case 'fail':
        throw step.problem;
      case 'wait':
        return poll(call, progress, progress.watch.remainingMs());
      case 'withdraw':
        return withdraw(call, seen, step.answer, progress);
      case 'request':
        return afterRequest(call, await attempt(call, view, step, readSince, attempts), progress);
      case 'renew': {
        // While another token serves, no failure of its renewal matters to the caller.
        const outcome = await attempt(call, view, step, readSince, attempts).catch(lostFor);
        progress.mayRenew = false;
        // The table does not tell of an attempt that got no lease.
        memory.keepAttempt(call.pair, view.at);
        const rest = outcome.kind === 'token' ? outcome : decide({ ...view, mayRenew: false });
        return rest.kind === 'answer' ? rest : afterRequest(call, outcome, progress);
      }
    }
  }

  async function afterRequest(
    call: Call,
    outcome: AttemptOutcome,
    progress: Progress,
  ): Promise<Acquired<never> | undefined> {
    switch (outcome.kind) {
      case 'token':
      case 'failed':
        return outcome;
      case 'rejected':
        progress.readSince = now();
        return undefined;
      case 'unanswered':
        progress.unanswered += 1;
        return undefined;
      case 'lost':
        return poll(call, progress);
    }
  }

  /** All that is known now; `undefined` while the store is silent and a lease that was seen can still live. */
  async function look(call: Call, progress: Progress): Promise<View | undefined> {
    const { watch, attempts, readSince, mayRenew, unanswered } = progress;
    const { asked, sent } = attempts;
    const seen = unanswered > 1 ? undefined : await readRecord(call);
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
    return { seen, at, record, isAlone, versions, leaseIsOver: watch.remainingMs() === 0, mayRenew };
  }

  async function readRecord({ pair, deadline, trace }: Call): Promise<Seen | undefined> {
    const began = memory.begin();
    const seen = await whenAvailable(trace, () => store.read(pair, deadline));
    if (seen === 'unavailable') return undefined;
    memory.remember(pair, seen.record, began);
    return seen;
  }

  /** Takes the token away, where the table can be asked. */
  async function withdraw<Answer>(call: Call, seen: Seen | undefined, answer: Answer, progress: Progress) {
    const left = seen && (await replace(call, seen, withdrawn(seen.record), call.deadline));
    if (left === 'unavailable') return afterRequest(call, { kind: 'unanswered' }, progress);
    if (seen === undefined || left !== undefined) return { kind: 'answer', answer } as const;
    // The token that is there now may be of a secret that is back.
    progress.readSince = now();
    return poll(call, progress);
  }

  async function poll(call: Call, progress: Progress, leaseLeftMs = Infinity): Promise<undefined> {
    const pollMs = Math.min(MAX_POLL_MS, FIRST_POLL_MS * 2 ** progress.polls++) * (1 + random()) * 0.5;
    // No call sleeps on when the lease ends; not all wake at once.
    const wakeMs = leaseLeftMs + random() * FIRST_POLL_MS;
    await sleep(Math.max(0, Math.min(pollMs, wakeMs, call.deadline - now())));
  }
}

/** How far one call has come. */
interface Progress {
  readonly watch: ReturnType<typeof createLeaseWatch>;
  readonly attempts: Attempts;
  /** The secret counts from then on. */
  readSince: number;
  mayRenew: boolean;
  /** Writes of leases: after the second one the call goes on alone. */
  unanswered: number;
  polls: number;
}

/** One call's sight of the leases of others, on its own clock. A lease's `until` only saves watching it to its end. */
function createLeaseWatch(lengthMs: number, now: () => number) {
  let watched: string | undefined;
  let since = 0;
  let until = -Infinity;

  return {
    see(lease: PairRecord['lease']): void {
      if (lease !== undefined && lease.id !== watched) [watched, since] = [lease.id, now()];
      const isPossible = lease !== undefined && lease.until <= now() + lengthMs + MAX_CLOCK_DIFFERENCE_MS;
      until = isPossible ? Math.min(lease.until, since + lengthMs) : -Infinity;
    },
    /** How long the lease that was seen last can still be alive, also when the store falls silent; 0 when no call can hold it. */
    remainingMs: () => Math.max(0, until - now()),
  };
}

function lostFor(error: unknown): AttemptOutcome {
  if (error instanceof Problem) return { kind: 'lost' };
  throw error;
}

/** An instance that is alone must notice within this time that the secret was taken away. */
const ALONE_TRUST_MS = 60_000;
