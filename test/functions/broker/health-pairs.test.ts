import { expect, it } from 'vitest';
import { pairsOf } from '../../../functions/broker/health/pairs.ts';

const CONFIGURED = ['customer-insights', 'merchant-payment-cleansing'];

it.each<[string | undefined, readonly string[], readonly string[]]>([
  [undefined, CONFIGURED, []],
  ['customer-insights', ['customer-insights'], []],
  ['  customer-insights   customer-insights ', ['customer-insights'], []],
  ['customer-insights no-such-service', ['customer-insights'], ['no-such-service']],
  ['Customer-Insights', [], ['Customer-Insights']],
  ['', [], []],
])('takes the tag %j for the services of a client', (services, pairs, unknown) => {
  expect(pairsOf([{ client: 'acme', services }], CONFIGURED)).toEqual({
    pairs: pairs.map((service) => ({ client: 'acme', service })),
    unknown: unknown.map((service) => ({ client: 'acme', service })),
  });
});

it('gives the pairs of all clients', () => {
  const clients = [{ client: 'acme' }, { client: 'globex', services: 'merchant-payment-cleansing' }];
  expect(pairsOf(clients, CONFIGURED).pairs).toEqual([
    { client: 'acme', service: 'customer-insights' },
    { client: 'acme', service: 'merchant-payment-cleansing' },
    { client: 'globex', service: 'merchant-payment-cleansing' },
  ]);
});
