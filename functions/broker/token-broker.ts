import type { Trace } from './audit.ts';
import { type Authorize, accessDenied, type Caller } from './authorize.ts';
import { type CheckRequest, type CheckResult, createCheckCredential } from './check-credential.ts';
import { createAcquireToken } from './pair/acquire-token.ts';
import type { Call } from './pair/call.ts';
import { decideIssue, type Issue, type IssueRequest } from './pair/decision.ts';
import { PairMemory } from './pair/memory.ts';
import type { PairRecord } from './pair/record.ts';
import { type Pair, pairKey, type ServiceName } from './pair.ts';
import type { Service } from './service.ts';

/** Both answer by `deadline`, in epoch milliseconds, and add their work to `trace`. */
export interface TokenBroker {
  /** Returns a token of the pair that does not expire soon. @throws Problem with the reason why there is no token */
  issue(caller: Caller, request: IssueRequest, deadline: number, trace: Trace): Promise<Issue>;
  /** Reports whether the credential of a pair works. @throws Problem `access-denied`, or why there is no finding */
  check(caller: Caller, request: CheckRequest, deadline: number, trace: Trace): Promise<CheckResult>;
}

interface Dependencies extends Omit<Parameters<typeof createAcquireToken>[0], 'memory'> {
  readonly services: Readonly<Record<ServiceName, Service>>;
  readonly authorize: Authorize;
  /** Digests the settings that change a service's token requests. Releases that differ in them have separate holds. */
  readonly settingsDigest: (service: Service) => string;
  readonly provenForMs: number;
}

/** Authorizes each call, answers it from memory if possible, and lets equal calls share one way to a token. */
export function createTokenBroker(dependencies: Dependencies): TokenBroker {
  const { services, authorize, settingsDigest, provenForMs, now } = dependencies;
  const memory = new PairMemory(now);
  const acquireToken = createAcquireToken({ ...dependencies, memory });
  const checkCredential = createCheckCredential({ acquireToken, provenForMs, now });
  const flights = new Map<string, Flight>();
  const isOnlyService = Object.keys(services).length === 1;
  const digests = new Map(Object.values(services).map((service) => [service, settingsDigest(service)]));

  return {
    async issue(caller, request, deadline, trace) {
      const { pair, minTtlMs, refused } = request;
      authorize(caller, 'token', pair);
      const call = callFor(pair, deadline, trace);

      const known = knownRecord(request);
      const step = known && decideIssue({ ...MEMORY_ALONE, record: known }, call, request, now());
      if (step?.kind === 'answer') return step.answer;
      // Equal calls share one flight, unless the flight began so long ago that it would soon fail.
      const key = `${pairKey(pair)} ${minTtlMs} ${refused ?? ''}`;
      const running = flights.get(key);
      if (running !== undefined && deadline - running.deadline < MAX_FLIGHT_AGE_MS) {
        return step?.kind === 'renew' ? step.answer : running.issuing;
      }
      const flight: Flight = {
        deadline,
        issuing: acquire(call, request).finally(() => flights.get(key) === flight && flights.delete(key)),
      };
      flights.set(key, flight);
      return flight.issuing;
    },

    async check(caller, request, deadline, trace) {
      authorize(caller, 'check', request.pair);
      return checkCredential({ ...callFor(request.pair, deadline, trace), stage: request.stage });
    },
  };

  /**
   * Returns the remembered record if it may answer. Only the table can confirm a refused token. Memory answers a
   * made-up fingerprint for one second, so it costs no read.
   */
  function knownRecord({ pair, refused }: IssueRequest): PairRecord | undefined {
    const record = memory.trusted(pair, refused === undefined ? undefined : REFUSAL_TRUST_MS);
    return refused !== undefined && record?.token?.fingerprint === refused ? undefined : record;
  }

  async function acquire(call: Call, request: IssueRequest): Promise<Issue> {
    const acquired = await acquireToken(call, (view) => decideIssue(view, call, request, now()));
    if (acquired.kind === 'failed') throw acquired.problem;
    return acquired.kind === 'token' ? { token: acquired.token, cache: 'none' } : acquired.answer;
  }

  function callFor(pair: Pair, deadline: number, trace: Trace): Call {
    const service = services[pair.service];
    if (service === undefined) throw accessDenied();
    return { pair, service, isOnlyService, settingsDigest: digests.get(service) ?? '', deadline, trace };
  }
}

interface Flight {
  readonly deadline: number;
  readonly issuing: Promise<Issue>;
}

/** A third of the time of a call. */
const MAX_FLIGHT_AGE_MS = 5_000;
const REFUSAL_TRUST_MS = 1_000;

/** A view that contains only the remembered record. */
const MEMORY_ALONE = { cache: 'memory', leaseIsOver: true } as const;
