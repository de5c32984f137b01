import { describe, expect, it } from 'vitest';
import type { TokenExchange } from '../../../functions/broker/token-request/token-request.ts';
import { createBrokerWorld, exchange, found } from '../../support/broker-world.ts';
import { exampleRule, exampleService } from '../../support/example.ts';

describe('the token broker', () => {
  it('makes one token request for all who ask at the same time', async () => {
    const gate = Promise.withResolvers<TokenExchange>();
    const { issue, calls } = createBrokerWorld({ answer: () => gate.promise });
    const issues = [issue(), issue(), issue()];
    gate.resolve(exchange(200, { access_token: 'shared', expires_in: 60 }));

    const tokens = (await Promise.all(issues)).map(({ token }) => token.accessToken.reveal());
    expect(tokens).toEqual(['shared', 'shared', 'shared']);
    expect(calls).toEqual({ secretReads: 1, tokenRequests: 1 });
  });

  it('gives no simultaneous caller the token of another pair', async () => {
    const clients = ['acme', 'globex'];
    const services = ['one', 'two'];
    const serviceAt = (name: string) => exampleService({ authUrl: `https://${name}.example.com` });
    const { issue } = createBrokerWorld({
      services: Object.fromEntries(services.map((name) => [name, serviceAt(name)])),
      accessRules: [exampleRule({ clients: 'all', services: 'all' })],
      secret: (client) => found('v1', { client_id: client, secret: 'secret' }),
      answer: (_, { authUrl }, { clientId }) =>
        exchange(200, { access_token: `${authUrl}/${clients.indexOf(clientId.reveal())}`, expires_in: 60 }),
    });
    const pairs = clients.flatMap((client) => services.map((service) => ({ client, service })));
    const issued = await Promise.all(pairs.map((pair) => issue({ pair })));

    const tokens = [0, 1].flatMap((client) => services.map((name) => `https://${name}.example.com/${client}`));
    expect(issued.map(({ token }) => token.accessToken.reveal())).toEqual(tokens);
  });
});
