import { expect, it, onTestFinished, vi } from 'vitest';
import { countCalls } from '../../../bench/start/counted-calls.ts';
import { EVENT } from '../../../bench/start/exchange.ts';
import type { TokenFunction } from '../../../functions/token-function.ts';

const COLD = ['GetItem', 'GetSecretValue', 'UpdateItem', 'UpdateItem', 'token request'];

it('calls AWS and the service exactly as often as each way to an answer needs', async () => {
  const { startInstance, calls } = countCalls();
  const first = startInstance();

  await first.readFirst();
  expect(calls()).toEqual(['GetItem', 'GetSecretValue']);

  expect(await ask(first)).toBe('token-broker; fwd=miss');
  expect(calls()).toEqual(COLD);

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

it('renews and replaces a token with the same calls as a first one, and looks for no made-up refusal that memory can answer', async () => {
  const clock = stopClock();
  const { startInstance, calls } = countCalls();
  const instance = startInstance();
  await instance.readFirst();
  const { fingerprint } = await issue(instance);
  calls();

  // Less than a second after memory's record.
  clock.pass(999);
  for (const refused of ['0000000000000000', '1111111111111111', '2222222222222222'])
    expect(await issue(instance, { refused })).toMatchObject({ fingerprint });
  expect(calls()).toEqual([]);
  clock.pass(1);
  expect(await issue(instance, { refused: '0000000000000000' })).toMatchObject({ fingerprint });
  expect(calls()).toEqual(['GetItem']);

  await issue(instance, { refused: fingerprint });
  expect(calls()).toEqual(COLD);
  clock.pass(61_000);
  await issue(instance, { min_ttl: 86_400 });
  expect(calls()).toEqual(COLD);
});

function stopClock() {
  vi.useFakeTimers({ toFake: ['Date'] });
  onTestFinished(() => void vi.useRealTimers());
  return { pass: (ms: number) => void vi.setSystemTime(Date.now() + ms) };
}

async function issue({ handler }: TokenFunction, members: object = {}) {
  const body = JSON.stringify({ client: 'acme', service: 'customer-insights', ...members });
  const event = { ...EVENT, body, isBase64Encoded: false };
  const answer = await handler(event, { getRemainingTimeInMillis: () => 15_000 });
  expect(answer.statusCode).toBe(200);
  return JSON.parse(answer.body);
}

/** Returns the answer's `Cache-Status`, else its status. */
async function ask({ handler }: TokenFunction, rawPath = '/token', body?: string): Promise<string | number> {
  const event = { ...EVENT, rawPath, ...(body !== undefined && { body, isBase64Encoded: false }) };
  const { statusCode, headers } = await handler(event, { getRemainingTimeInMillis: () => 15_000 });
  return headers['cache-status'] ?? statusCode;
}
