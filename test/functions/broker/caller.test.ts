import { describe, expect, it } from 'vitest';
import { callerKey, parseCaller } from '../../../functions/broker/caller.ts';

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
    ['nobody', 'anonymous'],
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
