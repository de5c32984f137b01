import type { createTokenEndpoint } from '../../../functions/broker/http/token-endpoint.ts';
import { createContract, type Exchange } from './contract.ts';
import { readContract } from './openapi.ts';

type CreateTokenEndpoint = typeof createTokenEndpoint;

/** Answers since the last test that docs/openapi.yaml does not describe. Test files that share a worker share this list. */
export const undescribed: string[] = [];

/** The same token endpoint; tells how one of its answers differs from docs/openapi.yaml. */
export function watched(create: CreateTokenEndpoint, onFault: (fault: string) => void): CreateTokenEndpoint {
  return (dependencies) => {
    const endpoint = create(dependencies);
    return async (request) => {
      const answer = await endpoint(request);
      for (const fault of faultsOf({ ...answer, method: request.method, path: request.path })) onFault(fault);
      return answer;
    };
  };
}

/** How an answer differs from docs/openapi.yaml. */
export function faultsOf(exchange: Exchange): readonly string[] {
  contract ??= createContract(readContract());
  return contract(exchange).map((fault) => `${exchange.method} ${exchange.path}: ${fault}`);
}

/** Made when it is needed first: most tests ask nothing of the broker. */
let contract: ReturnType<typeof createContract> | undefined;
