import { createTokenEndpoint } from '../../../functions/broker/http/token-endpoint.ts';
import { BILLING, START } from '../example.ts';
import { exampleToken } from '../pair/pair-examples.ts';

/** Makes the token endpoint break docs/openapi.yaml: it answers with a malformed fingerprint. */
export async function answerUndescribed(): Promise<void> {
  const token = exampleToken({ fingerprint: 'no-fingerprint' });
  const endpoint = createTokenEndpoint({
    broker: {
      issue: async () => ({ token, cache: 'none' }),
      check: () => Promise.reject(new Error('no check is expected')),
    },
    accessRules: [],
    audit: () => undefined,
    inTime: (_ms, work) => work,
    now: () => START,
  });
  await endpoint({
    requestId: 'request-1',
    method: 'POST',
    path: '/token',
    query: '',
    contentType: 'application/json',
    body: Buffer.from('{"client":"acme","service":"customer-insights"}'),
    caller: BILLING,
    deadline: START,
  });
}
