import { describe, expect, it } from 'vitest';
import { accessDenied, callerKey, createAuthorize, parseCaller } from '../../../functions/broker/authorize.ts';
import { BILLING, exampleRule } from '../../support/example.ts';

const SERVICES = new Set(['customer-insights', 'merchant-payment-cleansing']);
const PAIR = { client: 'acme', service: 'customer-insights' };

describe('an access rule', () => {
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

  it('with the id of its role does not let in a role that was made again under the same name', () => {
    const authorize = createAuthorize([exampleRule({ roleId: 'AROAFIRST' })], SERVICES);

    expect(() => authorize({ ...BILLING, roleId: 'AROAFIRST' }, 'token', PAIR)).not.toThrow();
    for (const roleId of ['AROASECOND', '', undefined]) {
      expect(() => authorize({ ...BILLING, roleId }, 'token', PAIR)).toThrow(accessDenied());
    }
  });

  it('covers nothing for a role of another organization when the environment names one', () => {
    const authorize = createAuthorize([exampleRule()], SERVICES, 'o-ours');

    expect(() => authorize({ ...BILLING, principalOrgId: 'o-ours' }, 'token', PAIR)).not.toThrow();
    for (const principalOrgId of ['o-theirs', '', undefined]) {
      expect(() => authorize({ ...BILLING, principalOrgId }, 'token', PAIR)).toThrow(accessDenied());
    }
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

describe('a caller', () => {
  it('is read from the ARN of an assumed role', () => {
    expect(parseCaller('arn:aws:sts::111111111111:assumed-role/billing/run-1')).toEqual({
      partition: 'aws',
      account: '111111111111',
      role: 'billing',
      session: 'run-1',
    });
  });

  it.each([
    ['of China', 'arn:aws-cn:sts::111111111111:assumed-role/billing/run-1', { partition: 'aws-cn' }],
    ['of GovCloud', 'arn:aws-us-gov:sts::111111111111:assumed-role/billing/run-1', { partition: 'aws-us-gov' }],
    [
      'whose names have every character that they may have',
      'arn:aws:sts::012345678901:assumed-role/azAZ09_+=,.@-/azAZ09_+=,.@-',
      { account: '012345678901', role: 'azAZ09_+=,.@-', session: 'azAZ09_+=,.@-' },
    ],
    [
      'whose names have 64 characters',
      `arn:aws:sts::111111111111:assumed-role/${'r'.repeat(64)}/${'s'.repeat(64)}`,
      { role: 'r'.repeat(64), session: 's'.repeat(64) },
    ],
  ])('is a role %s', (_, arn, parts) => {
    expect(parseCaller(arn)).toMatchObject(parts);
  });

  it('is the same in all its sessions, and no other', () => {
    const caller = { partition: 'aws', account: '111111111111', role: 'billing', session: 'run-1' };
    const later = { ...caller, session: 'run-2' };
    expect(callerKey(caller)).toBe(callerKey(later));
    const others = [{ partition: 'aws-cn' }, { account: '222222222222' }, { role: 'Billing' }];
    const keys = [caller, ...others.map((change) => ({ ...caller, ...change }))].map(callerKey);
    expect(new Set(keys).size).toBe(4);
  });

  it.each([
    ['a role whose name is too long', `arn:aws:sts::111111111111:assumed-role/${'r'.repeat(65)}/run-1`],
    ['a role whose session is too long', `arn:aws:sts::111111111111:assumed-role/billing/${'s'.repeat(65)}`],
    ['a role without a name', 'arn:aws:sts::111111111111:assumed-role//run-1'],
    ['a role with an empty session', 'arn:aws:sts::111111111111:assumed-role/billing/'],
    ['a long account', 'arn:aws:sts::1111111111111:assumed-role/billing/run-1'],
    ['an account that is no number', 'arn:aws:sts::11111111111a:assumed-role/billing/run-1'],
    ['a user', 'arn:aws:iam::111111111111:user/billing'],
    ['the root of an account', 'arn:aws:iam::111111111111:root'],
    ['a federated user', 'arn:aws:sts::111111111111:federated-user/billing'],
    ['a role that was not assumed', 'arn:aws:iam::111111111111:role/billing'],
    ['a service', 'cloudfront.amazonaws.com'],
    ['an anonymous caller', 'anonymous'],
    ['an empty text', ''],
    ['an unknown partition', 'arn:aws-x:sts::111111111111:assumed-role/billing/run-1'],
    ['a short account', 'arn:aws:sts::11111111111:assumed-role/billing/run-1'],
    ['a role without a session', 'arn:aws:sts::111111111111:assumed-role/billing'],
    ['a session that looks like a path', 'arn:aws:sts::111111111111:assumed-role/billing/a/b'],
    ['a line break at the end', 'arn:aws:sts::111111111111:assumed-role/billing/run-1\n'],
    ['another ARN in front', 'x arn:aws:sts::111111111111:assumed-role/billing/run-1'],
  ])('is not %s', (_, arn) => {
    expect(parseCaller(arn)).toBeUndefined();
  });
});
