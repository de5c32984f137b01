import { expect, it, onTestFinished, vi } from 'vitest';
import { createFakeBroker } from '../../../client/testing.ts';
import { PROBLEMS } from '../../../functions/vocabulary.ts';
import { PROBLEM_TYPES } from './broker-answers.ts';
import { MINUTE_MS, NOW, PAIR } from './client-world.ts';

it('a fake broker issues a token that its clock brings to its end', async () => {
  const { broker, advance, requests, accepts } = createFakeBroker({ startsAt: NOW, lifetimeSeconds: 600 });
  const first = await broker.token(PAIR);
  expect(first).toMatchObject({ tokenType: 'Bearer', expiresAt: NOW + 600_000, accessToken: 'fake-token-1' });
  advance(5 * MINUTE_MS);
  expect(await broker.token(PAIR)).toBe(first);
  expect(accepts('fake-token-1')).toBe(true);
  advance(5 * MINUTE_MS);
  expect(accepts('fake-token-1')).toBe(false);
  expect(await broker.token(PAIR)).toMatchObject({ accessToken: 'fake-token-2', expiresAt: NOW + 1_200_000 });
  expect(requests).toEqual([1, 2].map(() => ({ path: '/token', members: PAIR })));
});

it('a fake broker issues a token for each pair, renews it in time, and issues a longer living token where it can', async () => {
  const { broker, advance } = createFakeBroker({ lifetimeSeconds: 600 });
  await broker.token(PAIR);
  expect(await broker.token({ ...PAIR, client: 'globex' })).toMatchObject({ accessToken: 'fake-token-2' });
  // The client asks for a successor before the end, and must not get the same token.
  advance(8.9 * MINUTE_MS);
  expect(await broker.token(PAIR)).toMatchObject({ accessToken: 'fake-token-3' });
  // A longer life is a target, which no token of ten minutes can meet.
  advance(2 * MINUTE_MS);
  expect(await broker.token({ ...PAIR, minTtl: 540 })).toMatchObject({ accessToken: 'fake-token-4' });
  expect(await broker.token({ ...PAIR, minTtl: 3_600 })).toMatchObject({ accessToken: 'fake-token-4' });
});

it('a fake broker lets `fetch` reach the service with the token of the test', async () => {
  const seen: (string | null)[] = [];
  const { broker } = createFakeBroker({
    services: { [PAIR.service]: ['https://insights.example.com'] },
    fetch: async (_, init) => {
      const count = seen.push(new Headers(init?.headers).get('authorization'));
      return new Response(null, { status: count === 1 ? 401 : 204 });
    },
  });
  const request = new Request('https://insights.example.com/v1');
  // Frameworks and test environments replace the class.
  vi.stubGlobal('Request', class extends Request {});
  onTestFinished(() => void vi.unstubAllGlobals());
  const { status } = await broker.fetch(request, undefined, PAIR);
  expect({ status, seen }).toEqual({ status: 204, seen: ['Bearer fake-token-1', 'Bearer fake-token-2'] });
});

it('a fake broker fails as the real one does', async () => {
  const { broker, fail, recover } = createFakeBroker();
  for (const type of PROBLEM_TYPES) {
    const { status, retryable, title } = PROBLEMS[type];
    fail(type, { retryAfterSeconds: 7 });
    const facts = { status, retryable, retryAfterSeconds: 7 };
    const expected = { name: 'TokenBrokerError', type, ...facts, problem: { title } };
    await expect(broker.token(PAIR)).rejects.toMatchObject(expected);
  }
  fail('internal');
  await expect(broker.check(PAIR)).rejects.toMatchObject({ type: 'internal' });
  recover();
  expect(await broker.token(PAIR)).toMatchObject({ accessToken: 'fake-token-1' });
});

it('a fake broker that fails for a moment shows the repetitions of the client, which take no time', async () => {
  const { broker, fail, requests, now } = createFakeBroker({ startsAt: NOW });
  fail('token-endpoint-unavailable', { times: 2, retryAfterSeconds: 3 });
  expect(await broker.token(PAIR)).toMatchObject({ accessToken: 'fake-token-1' });
  expect(requests).toHaveLength(3);
  expect(now()).toBeGreaterThanOrEqual(NOW + 6_000);
});

it('a fake broker checks, and names the role that asks', async () => {
  const caller = { role: 'arn:aws:iam::222222222222:role/reporting', account: '222222222222', rules: [] };
  const { broker, fail } = createFakeBroker({ startsAt: NOW, caller });
  expect(await broker.check(PAIR)).toMatchObject({ ...PAIR, finding: 'accepted', checkedAt: NOW });
  expect(await broker.whoami()).toEqual(caller);
  fail('access-denied');
  await expect(broker.token(PAIR)).rejects.toMatchObject({ caller });
});
