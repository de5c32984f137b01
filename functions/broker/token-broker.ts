import type { CacheUse, Trace } from './audit.ts';
import { type Authorize, accessDenied, type Caller } from './authorize.ts';
import { type CheckResult, createChecker } from './check-credential.ts';
import type { CredentialReading, Credentials } from './credential/secret-cache.ts';
import type { CheckRequest, IssueRequest } from './http/request.ts';
import { createPursuit } from './pair/acquire-token.ts';
import type { Call, IssueCall } from './pair/call.ts';
import type { Step } from './pair/decision.ts';
import { isIssuable } from './pair/freshness.ts';
import type { Goal } from './pair/goal.ts';
import type { IssuedToken } from './pair/issued-token.ts';
import { createPairMemory } from './pair/memory.ts';
import { createOutlook, type Wish } from './pair/outlook.ts';
import { type Pair, pairKey, type ServiceName } from './pair/pair.ts';
import type { PairRecord, StoredToken } from './pair/record.ts';
import type { PairStore } from './pair/store.ts';
import type { Service } from './service.ts';
import { SingleFlight } from './single-flight.ts';
import type { RenewToken } from './token-request/renew-token.ts';

export interface Issue {
  readonly token: IssuedToken;
  readonly cache: CacheUse;
}

export interface TokenBroker {
  /**
   * Gives the caller a token of the pair that is not about to lapse, and notes in `trace` what that took. What memory
   * alone decides is given, or thrown, at once: most calls end there, and a promise would cost them more than the decision.
   *
   * @param deadline epoch milliseconds
   * @throws Problem whatever kept the broker from it
   */
  issue(caller: Caller, request: IssueRequest, deadline: number, trace: Trace): Issue | Promise<Issue>;
  /**
   * Says whether the credential of a pair works.
   *
   * @param deadline epoch milliseconds
   * @throws Problem `access-denied`, or that the broker itself cannot say
   */
  check(caller: Caller, request: CheckRequest, deadline: number, trace: Trace): Promise<CheckResult>;
}

interface Dependencies {
  /** Part of the names of secrets. */
  readonly environment: string;
  readonly services: Readonly<Record<ServiceName, Service>>;
  readonly authorize: Authorize;
  /** The shared cache; left out, this environment is by itself. */
  readonly store?: PairStore | undefined;
  /** The same with more time for a call, for whom the store has answered already. */
  readonly patientStore?: PairStore | undefined;
  readonly credentials: Credentials;
  readonly renewToken: RenewToken;
  /** How long a token that traffic obtained proves its credential to a check. */
  readonly provenForMs: number;
  readonly uniqueId: () => string;
  /** Epoch milliseconds. */
  readonly now: () => number;
  readonly sleep: (ms: number) => Promise<void>;
  /** From 0 to below 1. */
  readonly random: () => number;
}

/** Tells the story of one token: authorize, memory, shared cache and credential, lease, token request, publish. */
export function createTokenBroker(dependencies: Dependencies): TokenBroker {
  const { services, authorize, credentials, uniqueId, now } = dependencies;
  const memory = createPairMemory(now);
  const outlook = createOutlook(dependencies);
  const pursue = createPursuit({ ...dependencies, memory, stagedVersions: outlook.stagedVersions });
  const check = createChecker({ ...dependencies, pursue });
  const flights = new SingleFlight<Issue>();

  return {
    issue(caller, request, deadline, trace) {
      const { pair } = request;
      authorize(caller, 'token', pair);

      const step = recall({ pair, service: serviceOf(pair), request, trace });
      if (step?.kind === 'fail') throw step.problem;
      if (step?.kind === 'issue') return { token: step.token, cache: 'memory' };
      const flight = flightKey(request);
      if (step?.kind === 'renew' && flights.isRunning(flight)) return { token: step.token, cache: 'memory' };
      const call = { ...callFor(pair, deadline, trace), request };
      return flights.run(flight, () => pursue(call, goal(call)));
    },

    async check(caller, request, deadline, trace) {
      authorize(caller, 'check', request.pair);
      return check(callFor(request.pair, deadline, trace), request);
    },
  };

  function callFor(pair: Pair, deadline: number, trace: Trace): Call {
    return { pair, service: serviceOf(pair), startedAt: now(), deadline, owner: uniqueId(), trace };
  }

  function serviceOf(pair: Pair): Service {
    const service = services[pair.service];
    if (service === undefined) throw accessDenied();
    return service;
  }

  /** What memory alone decides, if it knows enough. Whether a token is refused is a matter of the shared record. */
  function recall(wish: Wish): Step | undefined {
    const record = wish.request.refused === undefined ? memory.recall(wish.pair) : undefined;
    return record && outlook.recall(wish, record)?.step;
  }

  function goal(call: IssueCall): Goal<Issue, CredentialReading> {
    return {
      prepare: (readSince) => credentials.read(call.pair.client, 'AWSCURRENT', { readSince, deadline: call.deadline }),
      async look({ record, prepared, leaseIsOver, readSince, isAlone }) {
        const { step, version } = await outlook.read(call, record, prepared, { readSince, leaseIsOver });
        if (step.kind === 'fail') throw step.problem;
        if (step.kind === 'issue') {
          return { kind: 'done', result: { token: step.token, cache: isAlone ? 'memory' : 'shared' } };
        }
        if (step.kind === 'wait' || version === undefined) return { kind: 'wait' };
        return {
          kind: 'lease',
          version,
          forced: step.kind === 'force',
          patienceMs: step.kind === 'renew' ? step.patienceMs : call.service.requestTimeoutMs,
          publishes: true,
          confirm: async (latest) => {
            const again = await outlook.reconsider(call, latest);
            return again.step.kind === step.kind ? again.version : undefined;
          },
          onToken: (token) => ({ token, cache: 'none' }),
          // While its caller waited for the successor, the token may have come too close to its end.
          otherwise: step.kind === 'renew' ? () => stillIssuable(step.token, record) : undefined,
        };
      },
    };
  }

  function stillIssuable(token: StoredToken, { lifetimeSeenMs }: PairRecord): Issue | undefined {
    return isIssuable({ ...token, lifetimeSeenMs }, now()) ? { token, cache: 'shared' } : undefined;
  }
}

/** Calls that want the same of a pair share one way to it. */
function flightKey({ pair, minTtlMs, refused }: IssueRequest): string {
  return `${pairKey(pair)} ${minTtlMs} ${refused ?? ''}`;
}
