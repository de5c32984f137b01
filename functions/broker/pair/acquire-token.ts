import { type SecretStage, secretName } from '../../contract.ts';
import type { SecretCache, SecretReading, StagedVersions } from '../credential/secret.ts';
import { Problem } from '../problem.ts';
import { FIRST_POLL_MS, leaseMs, MAX_POLL_MS } from './deadlines.ts';
import type { Call, Decide, View } from './decision.ts';
import { isLatched } from './latch-and-pause.ts';
import { createLeasedRequest, type LeaseDependencies, type LeaseOutcome } from './leased-request.ts';
import { capTimes, type PairRecord } from './record.ts';
import { whenAvailable } from './store.ts';

interface Dependencies extends LeaseDependencies {
  readonly environment: string;
  readonly secrets: SecretCache;
  readonly sleep: (ms: number) => Promise<void>;
}

/** What a call ends with: an answer that `decide` gave, or the outcome of its own token request. */
type Acquired<Answer> = Exclude<LeaseOutcome<Answer>, { readonly kind: 'lost' | 'rejected' }>;

/**
 * Reads the shared record, lets `decide` say what follows from it, and does that, until there is an answer or a token.
 * Without the shared store the environment goes by what it knows itself.
 */
export function createAcquireToken(dependencies: Dependencies) {
  const { environment, store, memory, secrets, now, sleep, random } = dependencies;
  const leasedRequest = createLeasedRequest({ ...dependencies, readVersions, withoutStage });

  /** @throws Problem why there is none of these */
  return async <Answer>(call: Call, decide: Decide<Answer>): Promise<Acquired<Answer>> => {
    const watch = createLeaseWatch(call.owner, leaseMs(call.service), now);
    let readSince = call.stage === undefined ? -Infinity : call.startedAt;
    let mayRenew = true;
    let unansweredLeases = 0;
    let polls = 0;

    while (now() < call.deadline) {
      const isCutOff = unansweredLeases > 1;
      const view = await look(call, watch, { readSince, mayRenew, isCutOff });
      const step = view === undefined ? ({ kind: 'wait' } as const) : decide(view);
      if (step.kind === 'answer') return step;
      if (step.kind === 'fail') throw step.problem;
      if (view === undefined || step.kind === 'wait') {
        await poll(call, polls++, watch.remainingMs());
        continue;
      }

      const trying = whenAvailable(call.trace, () => leasedRequest(call, decide, view, step, readSince));
      // While another token serves, no failure of its renewal matters to the caller.
      const outcome = await (step.kind === 'renew' ? trying.catch(unsendable) : trying);
      if (outcome?.kind === 'token' || outcome?.kind === 'answer') return outcome;
      if (step.kind === 'renew') {
        mayRenew = false;
        const rest = decide({ ...view, mayRenew });
        if (rest.kind === 'answer') return rest;
      }
      if (outcome?.kind === 'failed') return outcome;
      // The lease may be mine although I was not told: one more look before I go alone and the others wait for it.
      if (outcome === undefined) unansweredLeases += 1;
      if (outcome?.kind === 'rejected') {
        readSince = now();
        if (!outcome.isTold) unansweredLeases = Infinity;
      }
      if (outcome?.kind === 'lost') await poll(call, polls++);
    }
    throw new Problem('token-endpoint-timeout', 'No token came in time.', { retryAfterSeconds: 1 });
  };

  /**
   * What is known now; `undefined` while the store is out of reach and a lease is still known to live. A secret that was
   * read before `readSince` does not count; `isCutOff`: the store has lost too many answers to be relied on.
   */
  async function look(
    call: Call,
    watch: LeaseWatch,
    { readSince, mayRenew, isCutOff }: { readSince: number; mayRenew: boolean; isCutOff: boolean },
  ): Promise<View | undefined> {
    const shared = isCutOff ? undefined : await readRecord(call);
    if (shared === undefined && watch.remainingMs() > 0) return undefined;
    const record = shared ?? capTimes(memory.withOwn(call.pair, memory.last(call.pair)), now());
    const isAlone = shared === undefined || (record.closedUntil > now() && record.token === undefined);
    const since = isAlone ? Math.max(readSince, now() - ALONE_TRUST_MS) : readSince;
    const versions = isAlone || call.stage !== undefined ? await readVersions(call, record, since) : undefined;
    if (!isAlone) watch.see(record);
    const leaseIsOver = isAlone || watch.isOver(record);
    const observedExpired = watch.isObservedExpired(record);
    return { record, isAlone, versions, leaseIsOver, observedExpired, mayRenew };
  }

  /** The shared record as this environment can use it; `undefined` when the store is unavailable. */
  async function readRecord(call: Call): Promise<PairRecord | undefined> {
    const readAt = now();
    const shared = await whenAvailable(call.trace, () => store.read(call.pair, call.deadline));
    if (shared === undefined) return undefined;
    const record = capTimes(memory.withOwn(call.pair, shared), now());
    if (record.closedUntil === 0 || record.token !== undefined) memory.remember(call.pair, record, readAt);
    return record;
  }

  /** AWSCURRENT, and AWSPREVIOUS while that is latched; for a check the version that it asks for. */
  async function readVersions(call: Call, record: PairRecord, readSince: number): Promise<StagedVersions> {
    const { pair, stage = 'AWSCURRENT', deadline } = call;
    const read = (one: SecretStage) => secrets.read(pair.client, one, { readSince, deadline });
    const asked = await read(stage);
    const latch = asked.outcome === 'found' ? record.rejected.get(asked.secret.versionId) : undefined;
    const needsPrevious = call.stage === undefined && isLatched(latch, now());
    const candidates = needsPrevious ? [asked, await read('AWSPREVIOUS')] : [asked];
    // A predecessor goes only where the current version says that the credential may go.
    const listing = stage === 'AWSPREVIOUS' ? await read('AWSCURRENT') : asked;
    if (candidates.some((one) => one.outcome === 'found' && one.isStale)) call.trace.warnings.add('secret-stale');
    return { name: secretName(environment, pair.client), stage, listing, candidates };
  }

  async function withoutStage({ pair, startedAt, deadline }: Call, versions: readonly string[]) {
    const read = (stage: SecretStage) => secrets.read(pair.client, stage, { readSince: startedAt, deadline });
    const readings = await Promise.all([read('AWSCURRENT'), read('AWSPREVIOUS'), read('AWSPENDING')]);
    const isTold = (reading: SecretReading) =>
      reading.outcome === 'missing' || (reading.outcome === 'found' && !reading.isStale);
    if (!readings.every(isTold)) return [];
    const staged = readings.flatMap((reading) => (reading.outcome === 'found' ? [reading.secret.versionId] : []));
    return versions.filter((version) => !staged.includes(version));
  }

  async function poll(call: Call, polls: number, leaseLeftMs = Infinity): Promise<void> {
    const pollMs = Math.min(MAX_POLL_MS, FIRST_POLL_MS * 2 ** polls) * (1 + random()) * 0.5;
    // No call sleeps on when the lease ends; not all wake at once.
    const wakeMs = leaseLeftMs + random() * FIRST_POLL_MS;
    await sleep(Math.max(0, Math.min(pollMs, wakeMs, call.deadline - now())));
  }
}

function unsendable(error: unknown): { readonly kind: 'unsendable' } {
  if (error instanceof Problem) return { kind: 'unsendable' };
  throw error;
}

type LeaseWatch = ReturnType<typeof createLeaseWatch>;

/** What one call sees of the leases of others, on its own clock. */
function createLeaseWatch(owner: string, lengthMs: number, now: () => number) {
  let fence = -1;
  let since = 0;
  let until = -Infinity;

  const isLive = (record: PairRecord) => record.leaseOwner !== owner && now() < record.leaseUntil;
  const isObservedExpired = (record: PairRecord) => record.fence === fence && now() - since >= lengthMs;

  return {
    see(record: PairRecord): void {
      if (isLive(record) && record.fence !== fence) {
        fence = record.fence;
        since = now();
      }
      until = isLive(record) ? Math.min(record.leaseUntil, since + lengthMs) : -Infinity;
    },
    /** No other call holds the lease, or it has been watched for its whole length under one fence. */
    isOver: (record: PairRecord) => !isLive(record) || isObservedExpired(record),
    isObservedExpired,
    /** How long a lease that was alive when last seen can still be: waiting goes on even when the store cannot be asked. */
    remainingMs: () => Math.max(0, until - now()),
  };
}

/** An environment that is alone must notice within this time that the secret was taken away. */
const ALONE_TRUST_MS = 60_000;
