import { type SecretStage, secretName } from '../../contract.ts';
import type { SecretCache, SecretReading, StagedVersions } from '../credential/secret.ts';
import { Problem } from '../problem.ts';
import type { RenewToken } from '../token-request/renew-token.ts';
import { needsPrevious } from './choose-version.ts';
import { FIRST_POLL_MS, leaseMs, MAX_POLL_MS } from './deadlines.ts';
import type { Call, Decide, View } from './decision.ts';
import { createLeasedRequest, type LeaseOutcome, type LeaseStep } from './leased-request.ts';
import type { PairMemory } from './memory.ts';
import { capTimes, type PairRecord, type StoredToken } from './record.ts';
import { type PairStore, whenAvailable } from './store.ts';

/** What a call ends with: an answer that `decide` gave, or the outcome of its own token request. */
export type Acquired<Answer> =
  | { readonly kind: 'answer'; readonly answer: Answer }
  | { readonly kind: 'token'; readonly token: StoredToken }
  /** Its token request with this secret version failed. */
  | { readonly kind: 'failed'; readonly problem: Problem; readonly version: string };

interface Dependencies {
  /** Part of the names of secrets. */
  readonly environment: string;
  readonly store: PairStore;
  readonly memory: PairMemory;
  readonly secrets: SecretCache;
  readonly renewToken: RenewToken;
  /** Epoch milliseconds. */
  readonly now: () => number;
  readonly sleep: (ms: number) => Promise<void>;
  /** From 0 to below 1. */
  readonly random: () => number;
}

/**
 * Reads the shared record, lets `decide` say what follows from it, and does that, until there is an answer or a token.
 * Without the shared store the environment goes by what it knows itself.
 */
export function createAcquireToken(dependencies: Dependencies) {
  const { environment, store, memory, secrets, now, sleep, random } = dependencies;
  const leasedRequest = createLeasedRequest({ ...dependencies, readVersions, stagedVersions });

  /** @throws Problem why there is none of these */
  return async <Answer>(call: Call, decide: Decide<Answer>): Promise<Acquired<Answer>> => {
    const watch = createLeaseWatch(call.owner, leaseMs(call.service), now);
    let readSince = call.stage === undefined ? -Infinity : call.startedAt;
    let mayRenew = true;
    let unansweredLeases = 0;
    let polls = 0;

    while (now() < call.deadline) {
      const isCutOff = unansweredLeases > MAX_UNANSWERED_LEASES;
      const view = await look(call, watch, { readSince, mayRenew, isCutOff });
      const step = view === undefined ? WAIT : decide(view);
      if (step.kind === 'answer') return step;
      if (step.kind === 'fail') throw step.problem;
      if (view === undefined || step.kind === 'wait') {
        await poll(call, polls++, watch.remainingMs());
        continue;
      }

      const outcome = await tryLease(call, decide, view, step, readSince);
      if (outcome.kind === 'token' || outcome.kind === 'answer') return outcome;
      if (step.kind === 'renew') {
        mayRenew = false;
        const rest = decide({ ...view, mayRenew });
        if (rest.kind === 'answer') return rest;
      }
      if (outcome.kind === 'failed') return outcome;
      // The lease may be mine although I was not told: one more look before I go alone and the others wait for it.
      if (outcome.kind === 'unavailable') unansweredLeases += 1;
      if (outcome.kind === 'rejected') {
        readSince = now();
        if (!outcome.isTold) unansweredLeases = Infinity;
      }
      if (outcome.kind === 'lost') await poll(call, polls++);
    }
    throw new Problem('token-endpoint-timeout', 'No token came in time.', { retryAfterSeconds: 1 });
  };

  /** What is known now; `undefined` while the store is out of reach and a lease is still known to live. */
  async function look(call: Call, watch: LeaseWatch, bounds: Bounds): Promise<View | undefined> {
    const shared = bounds.isCutOff ? undefined : await readRecord(call);
    if (shared === undefined && watch.remainingMs() > 0 && !bounds.isCutOff) return undefined;
    const record = shared ?? capTimes(memory.withOwn(call.pair, memory.last(call.pair)), now());
    const isAlone = shared === undefined || (record.closedUntil > now() && record.token === undefined);
    const readSince = isAlone ? Math.max(bounds.readSince, now() - ALONE_TRUST_MS) : bounds.readSince;
    const versions = isAlone || call.stage !== undefined ? await readVersions(call, record, readSince) : undefined;
    if (!isAlone) watch.see(record);
    return {
      record,
      isAlone,
      isMemory: false,
      versions,
      leaseIsOver: isAlone || watch.isOver(record),
      observedExpired: watch.isObservedExpired(record),
      mayRenew: bounds.mayRenew,
    };
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

  /** While another token serves, no failure of its renewal matters to the caller. */
  async function tryLease<Answer>(
    call: Call,
    decide: Decide<Answer>,
    view: View,
    step: LeaseStep<Answer>,
    readSince: number,
  ): Promise<LeaseOutcome<Answer> | { readonly kind: 'unavailable' | 'unsendable' }> {
    try {
      const outcome = await whenAvailable(call.trace, () => leasedRequest(call, decide, view, step, readSince));
      return outcome ?? { kind: 'unavailable' };
    } catch (error) {
      if (error instanceof Problem && step.kind === 'renew') return { kind: 'unsendable' };
      throw error;
    }
  }

  /** AWSCURRENT, and AWSPREVIOUS while that is latched; for a check the version that it asks for. */
  async function readVersions(call: Call, record: PairRecord, readSince: number): Promise<StagedVersions> {
    const { pair, stage = 'AWSCURRENT', deadline } = call;
    const read = (one: SecretStage) => secrets.read(pair.client, one, { readSince, deadline });
    const asked = await read(stage);
    const isPreviousNeeded = call.stage === undefined && needsPrevious(asked, record, now());
    const previous = isPreviousNeeded ? [await read('AWSPREVIOUS')] : [];
    // A predecessor goes only where the current version says that the credential may go.
    const listing = stage === 'AWSPREVIOUS' ? await read('AWSCURRENT') : asked;
    const candidates = [asked, ...previous];
    if (candidates.some((one) => one.outcome === 'found' && one.isStale)) call.trace.warnings.add('secret-stale');
    return { name: secretName(environment, pair.client), stage, listing, candidates };
  }

  async function stagedVersions({ pair, startedAt, deadline }: Call): Promise<ReadonlySet<string> | undefined> {
    const readings = await Promise.all(
      STAGES.map((stage) => secrets.read(pair.client, stage, { readSince: startedAt, deadline })),
    );
    const isTold = (reading: SecretReading) =>
      reading.outcome === 'missing' || (reading.outcome === 'found' && !reading.isStale);
    if (!readings.every(isTold)) return undefined;
    return new Set(readings.flatMap((reading) => (reading.outcome === 'found' ? [reading.secret.versionId] : [])));
  }

  async function poll(call: Call, polls: number, leaseLeftMs = Infinity): Promise<void> {
    const pollMs = Math.min(MAX_POLL_MS, FIRST_POLL_MS * 2 ** polls) * (1 + random()) * 0.5;
    // No call sleeps on when the lease ends; not all wake at once.
    const wakeMs = leaseLeftMs + random() * FIRST_POLL_MS;
    await sleep(Math.max(0, Math.min(pollMs, wakeMs, call.deadline - now())));
  }
}

interface Bounds {
  /** A secret that was read before then does not count. */
  readonly readSince: number;
  readonly mayRenew: boolean;
  /** The store has lost too many answers for this call to rely on it. */
  readonly isCutOff: boolean;
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
      if (!isLive(record)) return;
      if (record.fence !== fence) {
        fence = record.fence;
        since = now();
      }
      until = Math.min(record.leaseUntil, since + lengthMs);
    },
    /** No other call holds the lease, or it has been watched for its whole length under one fence. */
    isOver: (record: PairRecord) => !isLive(record) || isObservedExpired(record),
    isObservedExpired,
    /** How long a lease that was seen alive can still be: waiting goes on even when the store cannot be asked. */
    remainingMs: () => Math.max(0, until - now()),
  };
}

const WAIT = { kind: 'wait' } as const;

const STAGES: readonly SecretStage[] = ['AWSCURRENT', 'AWSPREVIOUS', 'AWSPENDING'];

/** An environment that is alone must notice within this time that the secret was taken away. */
const ALONE_TRUST_MS = 60_000;

const MAX_UNANSWERED_LEASES = 1;
