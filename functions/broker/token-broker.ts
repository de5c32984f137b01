import type { CacheUse, Trace } from './audit.ts';
import { type Authorize, accessDenied } from './authorize.ts';
import type { Call } from './call.ts';
import type { Caller } from './caller.ts';
import type { Credentials } from './credentials.ts';
import type { Step } from './decision.ts';
import { isIssuable } from './freshness.ts';
import type { IssueRequest } from './issue-request.ts';
import type { IssuedToken } from './issued-token.ts';
import { createLeaseWatch } from './lease-watch.ts';
import { createLeasedRequest, type LeaseOutcome, type LeasePlan, leaseMs } from './leased-request.ts';
import { createOutlook } from './outlook.ts';
import { pairKey, type ServiceName } from './pair.ts';
import { createPairMemory } from './pair-memory.ts';
import { capTimes } from './pair-record.ts';
import { type PairStore, StoreUnavailable } from './pair-store.ts';
import { Problem } from './problem.ts';
import type { RenewToken } from './renewal.ts';
import type { Service } from './service.ts';
import { SingleFlight } from './single-flight.ts';

export interface Issue {
  readonly token: IssuedToken;
  readonly cache: CacheUse;
}

export interface TokenBroker {
  /**
   * Gives the caller a token of the pair that is not about to lapse, and notes in `trace` what that took.
   *
   * @param deadline epoch milliseconds
   * @throws Problem whatever kept the broker from it
   */
  issue(caller: Caller, request: IssueRequest, deadline: number, trace: Trace): Promise<Issue>;
}

interface Dependencies {
  /** Part of the names of secrets. */
  readonly environment: string;
  readonly services: Readonly<Record<ServiceName, Service>>;
  readonly authorize: Authorize;
  /** The shared cache; left out, this environment is by itself. */
  readonly store?: PairStore | undefined;
  readonly credentials: Credentials;
  readonly renewToken: RenewToken;
  readonly uniqueId: () => string;
  /** Epoch milliseconds. */
  readonly now: () => number;
  readonly sleep: (ms: number) => Promise<void>;
  /** From 0 to below 1. */
  readonly random: () => number;
}

/** Tells the story of one token: authorize, memory, shared cache and credential, lease, token request, publish. */
export function createTokenBroker(dependencies: Dependencies): TokenBroker {
  const { services, authorize, credentials, renewToken, uniqueId, now, sleep, random } = dependencies;
  const memory = createPairMemory(now);
  const outlook = createOutlook(dependencies);
  const requestUnderLease = createLeasedRequest({ ...outlook, memory, renewToken, now });
  const flights = new SingleFlight<Issue>();

  return {
    async issue(caller, request, deadline, trace) {
      authorize(caller, 'token', request.pair);
      const service = services[request.pair.service];
      if (service === undefined) throw accessDenied();
      const call = { pair: request.pair, service, request, startedAt: now(), deadline, owner: uniqueId(), trace };

      const flight = flightKey(request);
      const step = recall(call);
      if (step?.kind === 'fail') throw step.problem;
      if (step?.kind === 'issue' || (step?.kind === 'renew' && flights.isRunning(flight))) {
        return { token: step.token, cache: 'memory' };
      }
      return flights.run(flight, () => pursue(call));
    },
  };

  /** What memory alone decides, if it knows enough. Whether a token is refused is a matter of the shared record. */
  function recall(call: Call): Step | undefined {
    const record = call.request.refused === undefined ? memory.recall(call.pair) : undefined;
    return record && outlook.recall(call, record)?.step;
  }

  /** Looks and acts until there is a token or a problem; every round begins with what all environments share. */
  async function pursue(call: Call): Promise<Issue> {
    const watch = createLeaseWatch(call.owner, leaseMs(call.service), now);
    let store = dependencies.store ?? memory;
    let consistency: 'eventual' | 'strong' = 'eventual';
    let readSince = -Infinity;
    let polls = 0;

    while (now() < call.deadline) {
      const [record, current] = await Promise.all([
        readRecord(call, store, consistency),
        credentials.read(call.pair.client, 'AWSCURRENT', readSince),
      ]);
      if (record === undefined && watch.isWaiting()) {
        await poll(call, polls++);
        continue;
      }
      if (record === undefined || record.foreignUntil > now()) {
        store = memory;
        continue;
      }

      watch.see(record);
      const leaseIsOver = watch.isOver(record);
      const { step, version } = await outlook.read(call, record, current, { readSince, leaseIsOver });
      if (step.kind === 'fail') throw step.problem;
      if (step.kind === 'issue') return { token: step.token, cache: store === memory ? 'memory' : 'shared' };
      if (step.kind === 'wait' || version === undefined) {
        await poll(call, polls++);
        consistency = 'eventual';
        continue;
      }

      const outcome = await tryLease(call, {
        store,
        seen: record,
        step,
        version,
        outwaited: watch.isOutwaited(record),
      });
      if (outcome.kind === 'token') return { token: outcome.token, cache: 'none' };
      // While its caller waited for the successor, the token may have come too close to its end.
      if (step.kind === 'renew' && isIssuable({ ...record, ...step.token }, now())) {
        return { token: step.token, cache: 'shared' };
      }
      if (outcome.kind === 'unavailable') store = memory;
      if (outcome.kind === 'rejected') readSince = now();
      consistency = 'strong';
    }
    throw new Problem('token-endpoint-timeout', 'No token came in time.', { retryAfterSeconds: 1 });
  }

  /** The record with its times capped; `undefined` when the store is not available. */
  async function readRecord(call: Call, store: PairStore, consistency: 'eventual' | 'strong') {
    try {
      const record = capTimes(await store.read(call.pair, consistency), leaseMs(call.service), now());
      if (store === memory || record.foreignUntil > now()) return record;
      memory.remember(call.pair, record);
      return memory.withOwnLatches(call.pair, record);
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error;
      call.trace.remarks.add('shared-cache-unavailable');
      return undefined;
    }
  }

  /** While a living token serves, no failure to replace it matters to the caller. */
  async function tryLease(call: Call, plan: LeasePlan): Promise<LeaseOutcome | { readonly kind: 'unavailable' }> {
    try {
      return await requestUnderLease(call, plan);
    } catch (error) {
      if (error instanceof StoreUnavailable) {
        call.trace.remarks.add('shared-cache-unavailable');
        return { kind: 'unavailable' };
      }
      if (error instanceof Problem && plan.step.kind === 'renew') return { kind: 'stood-down' };
      throw error;
    }
  }

  async function poll(call: Call, polls: number): Promise<void> {
    const pollMs = Math.min(MAX_POLL_MS, FIRST_POLL_MS * 2 ** polls) * (1 + random()) * 0.5;
    await sleep(Math.max(0, Math.min(pollMs, call.deadline - now())));
  }
}

/** Calls that want the same of a pair share one way to it. */
function flightKey({ pair, minTtlMs, refused }: IssueRequest): string {
  return `${pairKey(pair)} ${minTtlMs} ${refused ?? ''}`;
}

const FIRST_POLL_MS = 50;
const MAX_POLL_MS = 500;
