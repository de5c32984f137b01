import { describe, expect, it } from 'vitest';
import {
  accessDenied,
  type Caller,
  createRulesOf,
  isAllowed,
  type Operation,
  parseCaller,
} from '../../../functions/broker/authorize.ts';
import { BILLING, exampleRule, PAIR } from '../../support/example.ts';

const ASSUMED = 'arn:aws:sts::111111111111:assumed-role';

/** Whether these rules allow a caller an operation on a pair, by default a token. */
function allowedBy(rules: Parameters<typeof exampleRule>[0][], organization?: string) {
  const rulesOf = createRulesOf(rules.map(exampleRule), organization);
  return (caller: Caller, pair = PAIR, operation: Operation = 'token') => isAllowed(rulesOf(caller), operation, pair);
}

describe('an access rule', () => {
  it.each([
    ['another client', BILLING, 'token', { ...PAIR, client: 'globex' }],
    ['another service', BILLING, 'token', { ...PAIR, service: 'merchant-payment-cleansing' }],
    ['another operation', BILLING, 'check', PAIR],
    ['another case of the role', { ...BILLING, role: 'Billing' }, 'token', PAIR],
    ['another account', { ...BILLING, account: '222222222222' }, 'token', PAIR],
    ['another partition', { ...BILLING, partition: 'aws-cn' }, 'token', PAIR],
  ] as const)('covers nothing for %s', (_, caller, operation, pair) => {
    expect([allowedBy([{}])(caller, pair, operation), allowedBy([{}])(BILLING)]).toEqual([false, true]);
  });

  it.each([
    ['role that was made again under the same name', 'roleId', allowedBy([{ roleId: 'ours' }])],
    ['role of another organization when the environment names one', 'principalOrgId', allowedBy([{}], 'ours')],
  ])('does not let in a %s', (_, member, allows) => {
    const callers = ['ours', 'theirs', '', undefined].map((value) => ({ ...BILLING, [member]: value }));
    expect(callers.map((caller) => allows(caller))).toEqual([true, false, false, false]);
  });

  it('names a role with its path, which the caller no longer has', () => {
    expect(allowedBy([{ role: 'arn:aws:iam::111111111111:role/team/x/billing' }])(BILLING)).toBe(true);
  });

  it('adds up with the other rules of its role, without mixing their clients and services', () => {
    const allows = allowedBy([{}, { clients: ['globex'], services: ['merchant-payment-cleansing'] }]);
    const pair = { client: 'globex', service: 'merchant-payment-cleansing' };
    expect([pair, { ...pair, service: 'customer-insights' }].map((asked) => allows(BILLING, asked))).toEqual([
      true,
      false,
    ]);
  });

  it.each([
    'arn:aws:iam::111111111111:user/billing',
    'arn:aws:iam::111111111111:role/billing and more',
    'see arn:aws:iam::111111111111:role/billing',
  ])('is refused for an ARN that names no role: %s', (role) => {
    expect(() => allowedBy([{ role }])).toThrow(new TypeError(`access rule for something that is not a role: ${role}`));
  });
});

it('asks a signer that is not a role to assume a role, and names to a refused role whom to ask', () => {
  expect(accessDenied('arn:aws:iam::111111111111:root').detail).toBe('Only roles may call: assume one.');
  expect(accessDenied().detail).toMatch(/Ask the operators of the broker for a rule\.$/);
});

describe('a caller', () => {
  it.each([
    [`${ASSUMED}/billing/run-1`, BILLING],
    ['arn:aws-cn:sts::111111111111:assumed-role/billing/run-1', { partition: 'aws-cn' }],
    ['arn:aws-us-gov:sts::111111111111:assumed-role/billing/run-1', { partition: 'aws-us-gov' }],
    ['arn:aws:sts::012345678901:assumed-role/azAZ09_+=,.@-/azAZ09_+=,.@-', { role: 'azAZ09_+=,.@-' }],
    [`arn:aws:sts::111111111111:assumed-role/${'r'.repeat(64)}/${'s'.repeat(64)}`, { session: 's'.repeat(64) }],
  ])('is a role of any partition, with any name: %s', (arn, parts) => {
    expect(parseCaller(arn)).toMatchObject(parts);
  });

  it.each([
    `arn:aws:sts::111111111111:assumed-role/${'r'.repeat(65)}/run-1`,
    `arn:aws:sts::111111111111:assumed-role/billing/${'s'.repeat(65)}`,
    ...['//run-1', '/billing/', '/billing', '/billing/a/b', '/billing/run-1\n'].map((end) => `${ASSUMED}${end}`),
    ...['1111111111111', '11111111111', '11111111111a'].map((account) => `arn:aws:sts::${account}:assumed-role/a/b`),
    ...['arn:aws:iam::111111111111:user/billing', 'arn:aws:iam::111111111111:root', 'cloudfront.amazonaws.com', ''],
    ...['arn:aws:sts::111111111111:federated-user/billing', 'arn:aws:iam::111111111111:role/billing'],
    ...['arn:awsx:sts::111111111111:assumed-role/billing/run-1', `x ${ASSUMED}/billing/run-1`],
    'arn:aws:sts::111111111111:Assumed-Role/billing/run-1',
  ])('is nothing else: %s', (arn) => {
    expect(parseCaller(arn)).toBeUndefined();
  });
});
