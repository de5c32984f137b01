import { describe, expect, it } from 'vitest';
import { accessDenied } from '../../../functions/broker/authorize.ts';
import { createBrokerWorld, exchange, found, ISSUE_REQUEST } from '../../support/broker-world.ts';
import { exampleRule, exampleService } from '../../support/example.ts';

describe('the token broker', () => {
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
});
