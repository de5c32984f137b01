import { afterAll, afterEach, expect, vi } from 'vitest';
import type * as auditLog from '../../../functions/aws/log/audit-log.ts';
import type * as tokenEndpoint from '../../../functions/broker/http/token-endpoint.ts';
import type * as wire from '../../../local/loopback.ts';
import { faultsOf, lineFaults, undescribed } from './contract.ts';

// Vitest runs this before every test file: every answer of the broker in it is held against docs/openapi.yaml, and so
// is every refusal of the Function URL stand-in itself; every audit line against docs/audit-line.schema.json.

vi.mock('../../../functions/broker/http/token-endpoint.ts', async (importOriginal) => {
  const original = await importOriginal<typeof tokenEndpoint>();
  const createTokenEndpoint: typeof original.createTokenEndpoint = (dependencies) => {
    const endpoint = original.createTokenEndpoint(dependencies);
    return async (request) => {
      const answer = await endpoint(request);
      undescribed.push(...faultsOf({ ...answer, method: request.method, path: request.path }));
      return answer;
    };
  };
  return { ...original, createTokenEndpoint };
});

vi.mock('../../../functions/aws/log/audit-log.ts', async (importOriginal) => {
  const original = await importOriginal<typeof auditLog>();
  const createAuditLog: typeof original.createAuditLog = (options) =>
    original.createAuditLog({
      ...options,
      write(line) {
        undescribed.push(...lineFaults(JSON.parse(line)));
        options.write(line);
      },
    });
  return { ...original, createAuditLog };
});

vi.mock('../../../local/loopback.ts', async (importOriginal) => {
  const original = await importOriginal<typeof wire>();
  const serve: typeof wire.serve = (respond, options) =>
    original.serve(async (request, response) => {
      const answer = await respond(request, response);
      if (answer?.headers && 'x-amzn-errortype' in answer.headers) {
        const { status, headers, body } = answer;
        undescribed.push(...faultsOf({ ...request, status, headers, body: `${body}` }));
      }
      return answer;
    }, options);
  return { ...original, serve };
});

function expectNoneUndescribed(): void {
  expect(undescribed.splice(0), 'what docs/openapi.yaml and docs/audit-line.schema.json do not describe').toEqual([]);
}
afterEach(expectNoneUndescribed);
afterAll(expectNoneUndescribed);
