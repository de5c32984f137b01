import { expect, it } from 'vitest';
import type { TokenFunction } from '../../../functions/token-function.ts';
import { CONTEXT } from '../../support/aws/function-url-events.ts';
import { countCalls } from '../../support/cold-start/counted-calls.ts';
import { EVENT } from '../../support/cold-start/exchange.ts';

it('calls AWS and the service exactly as often as each way to an answer needs', async () => {
  const { startInstance, calls } = countCalls();
  const first = startInstance();

  await first.readFirst();
  expect(calls()).toEqual(['GetItem', 'GetSecretValue']);

  expect(await ask(first)).toBe('token-broker; fwd=miss');
  expect(calls()).toEqual(['GetItem', 'GetSecretValue', 'UpdateItem', 'UpdateItem', 'token request']);

  expect(await ask(first)).toBe('token-broker; hit; detail=memory');
  expect(calls()).toEqual([]);

  const second = startInstance();
  await second.readFirst();
  expect(calls()).toEqual(['GetItem', 'GetSecretValue']);

  // A token that lives needs no secret of its client.
  expect(await ask(second)).toBe('token-broker; hit; detail=shared');
  expect(calls()).toEqual(['GetItem']);

  // The credential that is checked is read anew; the token that lives proves it.
  expect(await ask(second, '/check')).toBe(200);
  expect(calls()).toEqual(['GetItem', 'GetSecretValue']);

  expect(await ask(first, '/token', '{"client":"globex","service":"customer-insights"}')).toBe(403);
  expect(await ask(first, '/token', '{"client":"acme","service":"another"}')).toBe(403);
  expect(await ask(first, '/token', '{')).toBe(400);
  expect(calls()).toEqual([]);
});

/** Returns the answer's `Cache-Status`, else its status. */
async function ask({ handler }: TokenFunction, rawPath = '/token', body?: string): Promise<string | number> {
  const event = { ...EVENT, rawPath, ...(body !== undefined && { body, isBase64Encoded: false }) };
  const { statusCode, headers } = await handler(event, CONTEXT);
  return headers['cache-status'] ?? statusCode;
}
