import { describe, expect, it } from 'vitest';
import { accessDenied } from '../../../functions/broker/authorize.ts';
import { createBrokerWorld, exchange, found, ISSUE_REQUEST } from '../../support/broker-world.ts';
import { exampleRule, exampleService } from '../../support/example.ts';
import { exampleToken } from '../../support/pair/pair-examples.ts';
import { createReferencePairStore } from '../../support/pair/reference-pair-store.ts';

describe('the token broker', () => {
  it('makes one token request for all who ask at the same time, also those of one instance', async () => {
    const { issue, counts } = createBrokerWorld();
    const tokens = (await Promise.all([issue(), issue(), issue()])).map(({ token }) => token.accessToken.reveal());
    expect(tokens).toEqual(['token-1', 'token-1', 'token-1']);
    expect(counts.tokenRequests).toBe(1);
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

  it('has no token for a service that is not configured, also under a rule for all services', async () => {
    const { issue } = createBrokerWorld({ accessRules: [exampleRule({ services: 'all' })] });
    for (const service of ['unknown', 'toString']) {
      await expect(issue({ pair: { ...ISSUE_REQUEST.pair, service } })).rejects.toThrow(accessDenied());
    }
  });

  it('takes a secret that names no service for the only one that is configured, and for none of several', async () => {
    const secret = () => found('v1', { client_id: 'id', secret: 'secret', services: undefined });
    const services = { 'customer-insights': exampleService() };
    expect(await createBrokerWorld({ secret, services }).issue()).toMatchObject({ cache: 'none' });
    await expect(createBrokerWorld({ secret }).issue()).rejects.toMatchObject({ type: 'credential-malformed' });
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
