import { describe, expect, it } from 'vitest';
import type { IssueRequest } from '../../../functions/broker/pair/decision.ts';
import type { TokenExchange } from '../../../functions/broker/token-request/token-request.ts';
import { createBrokerWorld, exchange, found, ISSUE_REQUEST } from '../../support/broker-world.ts';
import { exampleRule, exampleService, HOUR_MS, MINUTE_MS, START } from '../../support/example.ts';
import { exampleToken } from '../../support/pair/pair-examples.ts';
import { createReferencePairStore } from '../../support/pair/reference-pair-store.ts';

describe('the token broker', () => {
  it('makes one token request for all who ask at the same time, also those of one instance', async () => {
    const { issue, counts } = createBrokerWorld();
    const tokens = (await Promise.all([issue(), issue(), issue()])).map(({ token }) => token.accessToken.reveal());
    expect(tokens).toEqual(['token-1', 'token-1', 'token-1']);
    expect(counts.tokenRequests).toBe(1);
  });

  it('makes no caller wait for a renewal that another one waits for', async () => {
    const gate = Promise.withResolvers<TokenExchange>();
    const first = exchange(200, { access_token: 'old', expires_in: 60 });
    const { issue, clock } = createBrokerWorld({ answer: (n) => (n === 1 ? first : gate.promise) });
    await issue();
    clock.now += 40_000;
    const renewing = issue();

    expect(await issue()).toMatchObject({ cache: 'shared', token: { expiresAt: START + 60_000 } });
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

  it('looks at the table each time that it is asked with a token that was refused, whatever memory has', async () => {
    const store = createReferencePairStore();
    const { issue, counts, clock } = createBrokerWorld({ store });
    const { token } = await issue();
    clock.now += 5_000;
    const { token: successor, cache } = await issue({ refused: token.fingerprint });
    expect([cache, counts.tokenRequests]).toEqual(['none', 2]);

    const newer = exampleToken({ fingerprint: 'of another instance' });
    store.change(ISSUE_REQUEST.pair, (record) => ({ ...record, token: newer }));
    for (const refused of [token.fingerprint, successor.fingerprint]) {
      expect(await issue({ refused })).toMatchObject({ cache: 'shared', token: newer });
    }
  });
});
