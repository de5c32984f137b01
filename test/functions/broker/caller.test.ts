import { describe, expect, it } from 'vitest';
import { parseCaller } from '../../../functions/broker/caller.ts';

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
