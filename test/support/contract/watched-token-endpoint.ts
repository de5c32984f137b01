import { createTokenEndpoint as create } from '../../../functions/broker/http/token-endpoint.ts';
import { watched } from './contract-watch.ts';

/** The token endpoint of a process of its own, which ends upon an answer that docs/openapi.yaml does not describe. */
export const createTokenEndpoint = watched(create, (fault) => {
  process.stderr.write(`not in docs/openapi.yaml: ${fault}\n`);
  process.exit(70);
});
