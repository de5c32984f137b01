import { RetentionDays } from 'aws-cdk-lib/aws-logs';
import { describe, expect, it } from 'vitest';
import { parseEnvironment } from '../../../lib/settings/environment.ts';
import { exampleForm, faultsIn } from './example-form.ts';

const OFF_OR_OBJECT = "canary: must be 'off' or an object with percent and minutes";
const NONE_OR_NUMBER = "reservedConcurrency: must be 'none' or a whole number, 0 to 10000";
const SUBNET = 'must be an id such as subnet-0123456789abcdef0';
const GROUP = 'must be an id such as sg-0123456789abcdef0';
const KEY_FORM = 'keyArn: must be the ARN of a KMS key: arn:aws:kms:<region>:<account>:key/<id>';
const KEY_ID = '12345678-1234-1234-1234-123456789012';
const ALARMS = [
  ...["must be 'errors' or 'internal-errors' or 'throttles' or 'p99-duration' or 'client-error-surge'"],
  ...["'denied-caller-surge' or 'credential-rejected' or 'shared-cache-degraded' or 'secrets-stale' or 'latch-active'"],
  ...["'service-incident' or 'health-silent' or 'probe-not-denied' or 'operators-unreachable' or 'failed-events'"],
  ...["'new-version-errors' or 'new-version-internal-errors' or 'new-version-p99-duration' or 'direct-invocation'"],
  ...["'function-changed' or 'sealing-key-written' or 'trail-changed'"],
].join(' or ');
const WRITER = 'arn:aws:iam::111111111111:role/key-keeper';
const vpc = { subnetIds: ['subnet-0123456789abcdef0'], securityGroupIds: ['sg-0123456789abcdef0'] };

describe('wrong settings of how an environment is run', () => {
  it.each<[member: string, value: unknown, fault: string]>([
    ['canary', true, OFF_OR_OBJECT],
    ['canary', 'on', OFF_OR_OBJECT],
    ['canary', 10, OFF_OR_OBJECT],
    ['canary', { percent: 0 }, 'canary.percent: must be at least 1'],
    ['canary', { percent: 100 }, 'canary.percent: must be at most 99'],
    ['canary', { percent: 2.5 }, 'canary.percent: must be a whole number'],
    ['canary', { minutes: 0 }, 'canary.minutes: must be at least 1'],
    ['canary', { minutes: 61 }, 'canary.minutes: must be at most 60'],
    ['canary', { minutes: '5' }, 'canary.minutes: must be a number'],
    ['canary', { minute: 5 }, 'canary.minute: is not a known member (known: percent, minutes)'],
    ['tags', { environment: 'x' }, 'tags.environment: is a tag that the stack sets itself'],
    ['tags', { team: 'a,b' }, 'tags.team: must be at most 256 of: letters, digits, space, _ . : / = + - @'],
    ['healthConcurrency', 1, 'healthConcurrency: must be at least 2'],
    ['healthConcurrency', '10', "healthConcurrency: must be 'none' or a whole number, 2 to 100"],
    ['reservedConcurrency', -1, 'reservedConcurrency: must be at least 0'],
    ['reservedConcurrency', '10', NONE_OR_NUMBER],
    ['reservedConcurrency', 1.5, NONE_OR_NUMBER],
    ['reservedConcurrency', 10_001, 'reservedConcurrency: must be at most 10000'],
    ['provisionedConcurrency', -1, 'provisionedConcurrency: must be at least 0'],
    ['provisionedConcurrency', 'none', 'provisionedConcurrency: must be a number'],
    ['logRetentionDays', 0, expect.stringMatching(/^logRetentionDays: must be 1 or 3 or 5 or 7 or /)],
    ['logRetentionDays', 100, expect.stringMatching(/^logRetentionDays: must be 1 or /)],
    ['logRetentionDays', 'forever', expect.stringMatching(/^logRetentionDays: must be 1 or /)],
    ['tracing', 'on', 'tracing: must be true or false'],
    ['trail', true, "trail: must be 'off' or an object with sealingKeyWriters"],
    [
      'trail',
      { sealingKeyWriters: ['me'] },
      expect.stringMatching(/^trail.sealingKeyWriters\[0\]: must be the ARN of/),
    ],
    ['trail', { sealingKeyWriters: [WRITER, WRITER] }, 'trail.sealingKeyWriters[1]: is there twice'],
    ['trail', { sealingKeyWriters: [1, 2, 3, 4].map((n) => WRITER + n) }, expect.stringMatching(/sealingKeyWriters/)],
    ['vpc', 'vpc-0123456789abcdef0', 'vpc: must be an object'],
    ['vpc', { ...vpc, subnetIds: [] }, 'vpc.subnetIds: must not be empty'],
    ['vpc', { ...vpc, subnetIds: undefined }, 'vpc.subnetIds: is missing'],
    ['vpc', { ...vpc, subnetIds: ['sg-0123456789abcdef0'] }, `vpc.subnetIds[0]: ${SUBNET}`],
    ['vpc', { ...vpc, subnetIds: ['*'] }, `vpc.subnetIds[0]: ${SUBNET}`],
    ['vpc', { ...vpc, securityGroupIds: [] }, 'vpc.securityGroupIds: must not be empty'],
    ['vpc', { ...vpc, securityGroupIds: ['default'] }, `vpc.securityGroupIds[0]: ${GROUP}`],
    [
      'vpc',
      { ...vpc, securityGroupIds: [...vpc.securityGroupIds, ...vpc.securityGroupIds] },
      'vpc.securityGroupIds[1]: is there twice',
    ],
    ['vpc', { ...vpc, vpcId: 'vpc-1' }, 'vpc.vpcId: is not a known member (known: subnetIds, securityGroupIds)'],
    ['keyArn', KEY_ID, KEY_FORM],
    ['keyArn', 'arn:aws:kms:eu-west-1:111111111111:key/*', KEY_FORM],
    ['keyArn', 'arn:aws:kms:eu-west-1:111111111111:alias/keys', 'keyArn: must name the key itself, not an alias of it'],
    [
      'keyArn',
      `arn:aws:kms:eu-west-1:222222222222:key/${KEY_ID}`,
      'keyArn: belongs to another account than the environment',
    ],
    [
      'keyArn',
      `arn:aws:kms:eu-central-1:111111111111:key/${KEY_ID}`,
      'keyArn: is in another region than the environment',
    ],
    ['alarms', { off: 'errors' }, 'alarms.off: must be a list'],
    ['alarms', { off: ['latched'] }, `alarms.off[0]: ${ALARMS}`],
    ['alarms', { off: ['errors', 'errors'] }, 'alarms.off[1]: is there twice'],
    ['alarms', { errors: { threshold: 2 } }, 'alarms.errors: is not a known member (known: off)'],
  ])('%s = %j is refused with its path and the reason', (member, value, fault) => {
    const faults = faultsIn(() => parseEnvironment('test', { ...exampleForm(), [member]: value }));
    expect(faults.map((line) => line.replace('environments.test.', ''))).toEqual([fault]);
  });

  it('are refused when more instances are to stand ready than may run', () => {
    const form = { ...exampleForm(), reservedConcurrency: 5, provisionedConcurrency: 6 };
    expect(faultsIn(() => parseEnvironment('test', form))).toEqual([
      'environments.test.provisionedConcurrency: must not be more than reservedConcurrency',
    ]);
    expect(faultsIn(() => parseEnvironment('test', { ...form, provisionedConcurrency: 5 }))).toEqual([]);
  });

  it('are refused when the off switch is on and instances are to stand ready', () => {
    const form = { ...exampleForm(), reservedConcurrency: 0, provisionedConcurrency: 1 };
    expect(faultsIn(() => parseEnvironment('test', form))).toHaveLength(1);
  });
});

it('keeps logs for as long as CloudWatch can, and not for ever', () => {
  const known = Object.values(RetentionDays).filter(
    (days) => typeof days === 'number' && days !== RetentionDays.INFINITE,
  );
  const accepts = (days: unknown) =>
    faultsIn(() => parseEnvironment('test', { ...exampleForm(), logRetentionDays: days })).length === 0;
  const days = Array.from({ length: 4_000 }, (_, index) => index);
  expect(days.filter(accepts)).toEqual(known.toSorted((one, other) => Number(one) - Number(other)));
});
