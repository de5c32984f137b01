import { describe, expect, it } from 'vitest';
import type { IssueRequest } from '../../../functions/broker/pair/decision.ts';
import type { StoredToken } from '../../../functions/broker/pair/record.ts';
import type { TokenExchange } from '../../../functions/broker/token-request/token-request.ts';
import { createBrokerWorld, exchange, found, ISSUE_REQUEST } from '../../support/broker-world.ts';
import { exampleRule, exampleService, HOUR_MS, MINUTE_MS, START } from '../../support/example.ts';
import { exampleToken } from '../../support/pair/pair-examples.ts';
import { createReferencePairStore } from '../../support/pair/reference-pair-store.ts';

describe('the token broker', () => {
  it('makes one token request for all who ask at the same time', async () => {
    const gate = Promise.withResolvers<TokenExchange>();
    const { issue, counts } = createBrokerWorld({ answer: () => gate.promise });
    const issues = [issue(), issue(), issue()];
    gate.resolve(exchange(200, { access_token: 'shared', expires_in: 60 }));

    const tokens = (await Promise.all(issues)).map(({ token }) => token.accessToken.reveal());
    expect(tokens).toEqual(['shared', 'shared', 'shared']);
    expect(counts).toEqual({ secretReads: 1, tokenRequests: 1 });
  });

  it('makes no caller wait for a renewal that another one waits for', async () => {
    const gate = Promise.withResolvers<TokenExchange>();
    const first = exchange(200, { access_token: 'old', expires_in: 60 });
    const { issue, clock } = createBrokerWorld({ answer: (n) => (n === 1 ? first : gate.promise) });
    await issue();
    clock.now += 40_000;
    const renewing = issue();

    expect(await issue()).toMatchObject({ cache: 'memory', token: { expiresAt: START + 60_000 } });
    gate.resolve(exchange(200, { access_token: 'new', expires_in: 60 }));
    expect(await renewing).toMatchObject({ cache: 'none' });
  });

  it('issues no living token that a renewal in vain has outlasted', async () => {
    const { issue, world, clock } = createBrokerWorld({
      answer: () => exchange(200, { access_token: 'old', expires_in: 60 }),
    });
    await issue();
    world.answer = () => {
      clock.now += 3_000;
      return exchange(503, {});
    };
    // Its last 12 seconds are for no caller.
    clock.now += 46_000;
    await expect(issue()).rejects.toMatchObject({ type: 'token-endpoint-unavailable' });
  });

  it('issues no token of another pair, also of two services that only differ in the scope they ask for', async () => {
    const clients = ['acme', 'globex'];
    const services = ['read', 'write'];
    const { issue } = createBrokerWorld({
      services: Object.fromEntries(services.map((scope) => [scope, exampleService({ parameters: { scope } })])),
      accessRules: [exampleRule({ clients: 'all', services: 'all' })],
      secret: (client) => found('v1', { client_id: client, secret: 'secret' }),
      answer: (_, { parameters }, { clientId }) =>
        exchange(200, { access_token: `${parameters.scope}-${clients.indexOf(clientId.reveal())}`, expires_in: 60 }),
    });
    const pairs = clients.flatMap((client) => services.map((service) => ({ client, service })));
    for (const _ of ['from the service', 'from memory']) {
      const issued = await Promise.all(pairs.map((pair) => issue({ pair })));
      const tokens = issued.map(({ token }) => token.accessToken.reveal());
      expect(tokens).toEqual(['read-0', 'write-0', 'read-1', 'write-1']);
    }
  });

  it('takes a secret that names no service for the only one that is configured, and for none of several', async () => {
    const secret = () => found('v1', { client_id: 'id', secret: 'secret', services: undefined });
    const services = { 'customer-insights': exampleService() };
    expect(await createBrokerWorld({ secret, services }).issue()).toMatchObject({ cache: 'none' });
    await expect(createBrokerWorld({ secret }).issue()).rejects.toMatchObject({ type: 'credential-malformed' });
  });

  it.each<[string, Partial<IssueRequest>, Partial<IssueRequest>]>([
    ['refuses another', { refused: exampleToken().fingerprint }, { refused: 'f'.repeat(16) }],
    ['takes a shorter life time', { minTtlMs: HOUR_MS }, {}],
  ])('replaces no token for a caller that %s at the same time', async (_, first, second) => {
    const store = createReferencePairStore();
    const token = exampleToken({ expiresAt: START + 30 * MINUTE_MS, lifetimeSeenMs: 2 * HOUR_MS });
    store.change(ISSUE_REQUEST.pair, (record) => ({ ...record, token }));
    const { issue } = createBrokerWorld({ store });
    const issues = await Promise.all([issue(first), issue(second)]);
    expect(issues.map(({ cache }) => cache)).toEqual(['none', 'shared']);
  });

  describe('asked with a token that was refused', () => {
    /** With a token in the table and in memory, and a count of the looks at the table. */
    async function setUp() {
      const { store, looks } = countLooks();
      const world = createBrokerWorld({ store });
      const { token } = await world.issue();
      const replaceToken = (token: StoredToken) => store.change(ISSUE_REQUEST.pair, (record) => ({ ...record, token }));
      return { ...world, token, replaceToken, looks: () => looks() - 1 };
    }

    it('looks at the table each time that it is the token which memory has', async () => {
      const { issue, token, looks, counts, replaceToken, clock } = await setUp();
      clock.now += 5_000;
      const { token: successor, cache } = await issue({ refused: token.fingerprint });
      expect([cache, looks(), counts.tokenRequests]).toEqual(['none', 1, 2]);

      const newer = exampleToken({ fingerprint: 'of another instance' });
      replaceToken(newer);
      expect(await issue({ refused: successor.fingerprint })).toMatchObject({ cache: 'shared', token: newer });
    });

    it('answers others from memory that was read less than a second ago, so that made-up ones cost nothing', async () => {
      const { issue, token, looks, clock } = await setUp();
      clock.now += 999;
      for (let n = 0; n < 100; n += 1) {
        expect(await issue({ refused: `${n}`.padStart(16, '0') })).toMatchObject({ cache: 'memory', token });
      }
      expect(looks()).toBe(0);
    });

    it('looks at the table once for others when memory is a second old', async () => {
      const { issue, looks, clock, counts } = await setUp();
      clock.now += 1_000;
      for (let n = 0; n < 10; n += 1) await issue({ refused: 'ffffffffffffffff' });
      expect([looks(), counts.tokenRequests]).toEqual([1, 1]);
    });
  });
});

/** A table, and how often it was read. */
function countLooks() {
  const store = createReferencePairStore();
  let looks = 0;
  const read: typeof store.read = (...args) => {
    looks += 1;
    return store.read(...args);
  };
  return { store: { ...store, read }, looks: () => looks };
}
