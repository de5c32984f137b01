import type { Trace } from './audit.ts';
import { accessDenied, type Caller, isAllowed, type Operation, type RulesOf } from './authorize.ts';
import { type CheckRequest, type CheckResult, checkCredential } from './check-credential.ts';
import { type Dependencies as AcquireDependencies, acquireToken } from './pair/acquire-token.ts';
import type { Call } from './pair/call.ts';
import { decideIssue, type Issue, type IssueRequest } from './pair/decision.ts';
import { createPairMemory } from './pair/memory.ts';
import type { Pair, ServiceName } from './pair.ts';
import type { Service } from './service.ts';

export type TokenBroker = ReturnType<typeof createTokenBroker>;

interface Dependencies extends Omit<AcquireDependencies, 'memory'> {
  readonly services: Readonly<Record<ServiceName, Service>>;
  readonly rulesOf: RulesOf;
  /** Digests the settings that change a service's token requests. Releases that differ in them have separate holds. */
  readonly settingsDigest: (service: Service) => string;
  readonly provenForMs: number;
}

/**
 * Authorizes each call and answers it from memory if possible. Calls meet only at the lease, also in one instance. Both
 * operations answer by `deadline`, in epoch milliseconds, and add their work to `trace`.
 */
export function createTokenBroker(dependencies: Dependencies) {
  const { services, rulesOf, settingsDigest, provenForMs, now } = dependencies;
  const memory = createPairMemory(now);
  const tools = { ...dependencies, memory };
  const isOnlyService = Object.keys(services).length === 1;
  const settings = new Map(
    Object.entries(services).map(([name, service]) => {
      return [name, { service, isOnlyService, settingsDigest: settingsDigest(service) }] as const;
    }),
  );

  return {
    /** Returns a token of the pair that does not expire soon. @throws Problem with the reason why there is no token */
    async issue(caller: Caller, request: IssueRequest, deadline: number, trace: Trace): Promise<Issue> {
      const { pair, refused } = request;
      const call = authorize(caller, 'token', pair, deadline, trace);
      // Only the table can say whether a refused token is still current.
      const record = refused === undefined ? memory.trusted(pair) : undefined;
      const known = record && decideIssue({ record, cache: 'memory', leaseIsOver: true }, call, request, now());
      if (known?.kind === 'answer') return known.answer;
      const acquired = await acquireToken(tools, call, (view) => decideIssue(view, call, request, now()));
      if (acquired.kind === 'failed') throw acquired.problem;
      return acquired.kind === 'token' ? { token: acquired.token, cache: 'none' } : acquired.answer;
    },

    /** Reports whether the credential of a pair works. @throws Problem `access-denied`, or why there is no finding */
    async check(caller: Caller, request: CheckRequest, deadline: number, trace: Trace): Promise<CheckResult> {
      const call = authorize(caller, 'check', request.pair, deadline, trace);
      return checkCredential(tools, { ...call, stage: request.stage }, provenForMs);
    },
  };

  /** Returns the call that an access rule allows. A service that is not configured looks like a forbidden one. */
  function authorize(caller: Caller, operation: Operation, pair: Pair, deadline: number, trace: Trace): Call {
    const known = isAllowed(rulesOf(caller), operation, pair) ? settings.get(pair.service) : undefined;
    if (known === undefined) throw accessDenied();
    return { pair, ...known, deadline, trace };
  }
}
