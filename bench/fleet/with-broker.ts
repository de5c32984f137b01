import type { Operation } from '../../functions/broker/authorize.ts';
import { Problem } from '../../functions/broker/problem.ts';
import { PROBLEMS } from '../../functions/contract.ts';
import type { Obtain } from './callers.ts';
import { createFunctionFleet } from './function-fleet.ts';
import { createInstances } from './instance.ts';
import type { Check } from './operators.ts';
import type { SecretStore } from './secret-store.ts';
import type { SharedTable } from './shared-table.ts';
import type { TokenRequest, TokenServices } from './token-services.ts';
import { MINUTE_MS, SECOND_MS, type World } from './world.ts';

interface Surroundings {
  readonly secretStore: SecretStore;
  readonly tokenServices: TokenServices;
  /** Left out, each instance has only its memory. */
  readonly sharedTable?: SharedTable | undefined;
}

/** Callers that ask the broker, and the checks of its health function. */
export function createBrokerWay(world: World, surroundings: Surroundings): { obtain: Obtain; check: Check } {
  const { clock, tally } = world;
  const { sharedTable, tokenServices } = surroundings;
  const startInstance = createInstances(world, { ...surroundings, onTokenRequest });
  const fleet = createFunctionFleet(world, startInstance);

  return {
    async obtain({ pair }) {
      try {
        const { token, cache } = await fleet.invoke((instance) => instance.issue(pair));
        // Without the shared table all that is kept is the instance's own.
        if (cache === 'memory' || (cache === 'shared' && sharedTable === undefined)) tally.memoryHits += 1;
        return { kind: 'token', endsAt: token.expiresAt };
      } catch (error) {
        return { kind: 'problem', retryAfterMs: retryAfterMs(problemOf(error)) };
      }
    },

    async check(pair) {
      tally.checks += 1;
      await fleet.invoke((instance) => instance.check(pair)).catch(problemOf);
    },
  };

  function onTokenRequest(request: TokenRequest, operation: Operation): void {
    tally.tokenRequests += 1;
    if (operation === 'check') tally.tokenRequestsOfChecks += 1;
    else if (sharedTable !== undefined && isNeedless(request, sharedTable)) tally.needlessTokenRequests += 1;
  }

  function isNeedless({ pair, version }: TokenRequest, { latest }: SharedTable): boolean {
    const { token } = latest(pair);
    const isFresh = token !== undefined && token.credentialVersion === version && clock.now() < token.refreshAt;
    return isFresh || tokenServices.isAsked(pair);
  }
}

/** Every other error is a bug, and ends the simulation. */
function problemOf(error: unknown): Problem {
  if (error instanceof Problem) return error;
  throw error;
}

function retryAfterMs({ type, retryAfterSeconds }: Problem): number {
  if (!PROBLEMS[type].retryable) return MINUTE_MS;
  return (retryAfterSeconds ?? 1) * SECOND_MS;
}
