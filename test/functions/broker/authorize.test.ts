import { describe, expect, it } from 'vitest';
import { accessDenied, createAuthorize } from '../../../functions/broker/authorize.ts';
import { BILLING, exampleRule } from '../../support/example.ts';

const SERVICES = new Set(['customer-insights', 'merchant-payment-cleansing']);
const PAIR = { client: 'acme', service: 'customer-insights' };

describe('an access rule', () => {
  it('lets its role act for its client on its service', () => {
    const authorize = createAuthorize([exampleRule()], SERVICES);

    expect(() => authorize(BILLING, 'token', PAIR)).not.toThrow();
  });

  it.each([
    ['another client', BILLING, 'token', { ...PAIR, client: 'globex' }],
    ['another service', BILLING, 'token', { ...PAIR, service: 'merchant-payment-cleansing' }],
    ['another operation', BILLING, 'check', PAIR],
    ['another role', { ...BILLING, role: 'billing2' }, 'token', PAIR],
    ['another case of the role', { ...BILLING, role: 'Billing' }, 'token', PAIR],
    ['another account', { ...BILLING, account: '222222222222' }, 'token', PAIR],
    ['another partition', { ...BILLING, partition: 'aws-cn' }, 'token', PAIR],
  ] as const)('covers nothing for %s', (_, caller, operation, pair) => {
    const authorize = createAuthorize([exampleRule()], SERVICES);

    expect(() => authorize(caller, operation, pair)).toThrow('access-denied');
  });

  it('for all services covers only the configured ones', () => {
    const authorize = createAuthorize([exampleRule({ clients: 'all', services: 'all' })], SERVICES);

    expect(() => authorize(BILLING, 'token', { client: 'any', service: 'customer-insights' })).not.toThrow();
    expect(() => authorize(BILLING, 'token', { client: 'any', service: 'toString' })).toThrow('access-denied');
  });

  it('names a role with its path, which the caller no longer has', () => {
    const authorize = createAuthorize(
      [exampleRule({ role: 'arn:aws:iam::111111111111:role/team/x/billing' })],
      SERVICES,
    );

    expect(() => authorize(BILLING, 'token', PAIR)).not.toThrow();
  });

  it('adds up with the other rules of its role, without mixing their clients and services', () => {
    const authorize = createAuthorize(
      [exampleRule(), exampleRule({ clients: ['globex'], services: ['merchant-payment-cleansing'] })],
      SERVICES,
    );

    expect(() =>
      authorize(BILLING, 'token', { client: 'globex', service: 'merchant-payment-cleansing' }),
    ).not.toThrow();
    expect(() => authorize(BILLING, 'token', { client: 'globex', service: 'customer-insights' })).toThrow(
      'access-denied',
    );
  });

  it.each([
    'arn:aws:iam::111111111111:user/billing',
    'arn:aws:iam::111111111111:role/billing and more',
    'see arn:aws:iam::111111111111:role/billing',
  ])('is refused when it is for what is no role: %s', (role) => {
    expect(() => createAuthorize([exampleRule({ role })], SERVICES)).toThrow(
      new TypeError(`access rule for something that is not a role: ${role}`),
    );
  });
});

it('tells a refused caller whom to ask', () => {
  expect(accessDenied().detail).toMatch(/Ask the operators of the broker for a rule\.$/);
});
