import { describe, expect, it } from 'vitest';
import { patternMatches } from '../support/cloudwatch/filter-pattern.ts';
import { exampleForm } from '../unit/settings/example-form.ts';
import { resourceOf, resourcesOf, synthesise } from './synthesise.ts';

const KEEPER = 'arn:aws:iam::111111111111:role/security/key-keeper';
const plain = synthesise('test', exampleForm());
const stack = synthesise('test', { ...exampleForm(), trail: { sealingKeyWriters: [KEEPER] } });
const FUNCTION = 'arn:aws:lambda:eu-west-1:111111111111:function:token-broker-test';
const TRAIL = 'arn:aws:cloudtrail:eu-west-1:111111111111:trail/token-broker-test';
const FROM_A_PERSON = { sourceIPAddress: '203.0.113.7' };
const FROM_TRAIL = { 'aws:SourceArn': TRAIL, 'aws:SourceAccount': '111111111111' };

describe('the trail', () => {
  const trail = resourceOf(stack, 'MonitoringTrail', 'AWS::CloudTrail::Trail').Properties;

  it('is there when the settings ask for it only', () => {
    expect(resourcesOf(plain, 'AWS::CloudTrail::Trail')).toEqual([]);
    expect(resourcesOf(plain, 'AWS::S3::Bucket')).toEqual([]);
    expect(plain.text).not.toContain('TokenBrokerTrail');
    expect(trail).toMatchObject({ IsLogging: true, EnableLogFileValidation: true, TrailName: 'token-broker-test' });
  });

  it('records every invocation of the token function, of its versions and its alias, and every change', () => {
    expect(
      trail.AdvancedEventSelectors.map(({ FieldSelectors }: { FieldSelectors: unknown }) => FieldSelectors),
    ).toEqual([
      [
        { Field: 'eventCategory', Equals: ['Data'] },
        { Field: 'resources.type', Equals: ['AWS::Lambda::Function'] },
        { Field: 'resources.ARN', Equals: [FUNCTION], StartsWith: [`${FUNCTION}:`] },
      ],
      [
        { Field: 'eventCategory', Equals: ['Management'] },
        { Field: 'readOnly', Equals: ['false'] },
      ],
    ]);
  });

  it('keeps its records as long as the logs, also when the stack goes, in a bucket that no one else can write to', () => {
    const bucket = resourceOf(stack, 'MonitoringTrail', 'AWS::S3::Bucket');
    expect(bucket).toMatchObject({ DeletionPolicy: 'Retain', UpdateReplacePolicy: 'Retain' });
    expect(bucket.Properties).toMatchObject({
      PublicAccessBlockConfiguration: { BlockPublicAcls: true, BlockPublicPolicy: true, RestrictPublicBuckets: true },
      VersioningConfiguration: { Status: 'Enabled' },
      LifecycleConfiguration: {
        Rules: [{ ExpirationInDays: 365, NoncurrentVersionExpiration: { NoncurrentDays: 365 } }],
      },
    });
    const { Statement } = resourceOf(stack, 'MonitoringTrail', 'AWS::S3::BucketPolicy').Properties.PolicyDocument;
    const arn = { 'Fn::GetAtt': [bucket.id, 'Arn'] };
    expect(Statement).toEqual([
      expect.objectContaining({ Effect: 'Deny', Condition: { Bool: { 'aws:SecureTransport': 'false' } } }),
      {
        Effect: 'Allow',
        Principal: { Service: 'cloudtrail.amazonaws.com' },
        Action: 's3:GetBucketAcl',
        Resource: arn,
        Condition: { StringEquals: FROM_TRAIL },
      },
      {
        Effect: 'Allow',
        Principal: { Service: 'cloudtrail.amazonaws.com' },
        Action: 's3:PutObject',
        Resource: { 'Fn::Join': ['', [arn, '/AWSLogs/111111111111/*']] },
        Condition: { StringEquals: { ...FROM_TRAIL, 's3:x-amz-acl': 'bucket-owner-full-control' } },
      },
    ]);
  });

  it('writes to its own log, kept as long and encrypted with the key', () => {
    const log = resourceOf(stack, 'MonitoringTrail', 'AWS::Logs::LogGroup');
    const KmsKeyId = { 'Fn::GetAtt': [resourceOf(stack, 'ClientSecrets', 'AWS::KMS::Key').id, 'Arn'] };
    expect(log).toMatchObject({ DeletionPolicy: 'Retain', Properties: { RetentionInDays: 365, KmsKeyId } });
    expect(trail.CloudWatchLogsLogGroupArn).toEqual({ 'Fn::GetAtt': [log.id, 'Arn'] });
    expect(log.Properties).not.toHaveProperty('LogGroupName');
  });
});

describe('a record of the trail', () => {
  const filters = resourcesOf(stack, 'AWS::Logs::MetricFilter').map(({ Properties }) => Properties);

  it.each<[what: string, record: object, alarm: string | undefined]>([
    ['a call of the URL', data('InvokeFunctionUrl'), undefined],
    ['a direct invocation', data('Invoke'), 'DirectInvocations'],
    ['an attempt that was denied', { ...data('Invoke'), errorCode: 'AccessDenied' }, 'DirectInvocations'],
    ['a way to invoke that is not known yet', data('InvokeSomehow'), 'DirectInvocations'],

    ['new code by a developer', lambda('UpdateFunctionCode20150331v2'), 'FunctionChanges'],
    ['new variables by a developer', lambda('UpdateFunctionConfiguration20150331v2', FUNCTION), 'FunctionChanges'],
    ['a permission on the alias', lambda('AddPermission20150331v2', `${FUNCTION}:live`), 'FunctionChanges'],
    [
      'new code of the function of health',
      lambda('UpdateFunctionCode20150331v2', 'token-broker-health-test'),
      'FunctionChanges',
    ],
    ['new code by a deployment', { ...lambda('UpdateFunctionCode20150331v2'), ...by('cloudformation') }, undefined],
    ['an alias that the canary moves', { ...lambda('UpdateAlias20150331'), ...by('codedeploy') }, undefined],
    ['a function with a longer name', lambda('UpdateFunctionCode20150331v2', `${FUNCTION}-2`), undefined],
    ['a look at the function', { ...lambda('GetFunction20150331v2'), readOnly: true }, undefined],

    ['a new sealing key by an operator', secret('PutSecretValue', 'operator'), 'SealingKeyWrites'],
    [
      'a new sealing key by a user',
      { ...secret('PutSecretValue', ''), userIdentity: { type: 'IAMUser' } },
      'SealingKeyWrites',
    ],
    ['another policy of the sealing key', secret('PutResourcePolicy', 'operator'), 'SealingKeyWrites'],
    ['a new sealing key by the role that may', secret('PutSecretValue', 'security/key-keeper'), undefined],
    [
      'a new sealing key by a role with a longer name',
      secret('PutSecretValue', 'security/key-keeper-2'),
      'SealingKeyWrites',
    ],
    [
      'a sealing key that a deployment makes',
      { ...secret('UpdateSecret', 'deploy'), ...by('cloudformation') },
      undefined,
    ],
    ['a new version of a client’s secret', secret('PutSecretValue', 'operator', 'token-broker/test/acme'), undefined],

    ['a trail that is stopped', cloudtrail('StopLogging', { name: TRAIL }), 'TrailChanges'],
    ['a trail that records less', cloudtrail('PutEventSelectors', { trailName: 'token-broker-test' }), 'TrailChanges'],
    ['another trail that is stopped', cloudtrail('StopLogging', { name: `${TRAIL}-2` }), undefined],
  ])('rings when it must, and nothing else: %s', (_, record, alarm) => {
    const counted = filters.filter(({ FilterPattern }) => patternMatches(FilterPattern, record));
    expect(counted.flatMap((filter) => filter.MetricTransformations)).toMatchObject(
      alarm === undefined ? [] : [{ MetricNamespace: 'TokenBrokerTrail/test', MetricName: alarm, MetricValue: '1' }],
    );
  });

  it('rings for every writer of the sealing key when the settings name none', () => {
    const silent = synthesise('test', { ...exampleForm(), trail: {} });
    const { FilterPattern } = resourceOf(
      silent,
      'MonitoringTrailSealingKeyWrites',
      'AWS::Logs::MetricFilter',
    ).Properties;
    expect(patternMatches(FilterPattern, secret('PutSecretValue', 'security/key-keeper'))).toBe(true);
  });

  it('is counted by patterns that CloudWatch takes, in the log of the trail', () => {
    expect(filters).toHaveLength(4);
    for (const { FilterPattern, LogGroupName } of filters) {
      expect(LogGroupName).toEqual({ Ref: resourceOf(stack, 'MonitoringTrail', 'AWS::Logs::LogGroup').id });
      expect(FilterPattern.length).toBeLessThanOrEqual(1_024);
    }
  });
});

function data(eventName: string) {
  return { eventCategory: 'Data', eventSource: 'lambda.amazonaws.com', eventName, readOnly: false, ...FROM_A_PERSON };
}

function lambda(eventName: string, functionName = 'token-broker-test') {
  return management('lambda', eventName, { functionName });
}

function secret(eventName: string, role: string, secretId = 'token-broker-keys/test/sealing') {
  const arn = `arn:aws:iam::111111111111:role/${role}`;
  const userIdentity = { type: 'AssumedRole', sessionContext: { sessionIssuer: { type: 'Role', arn } } };
  return { ...management('secretsmanager', eventName, { secretId }), userIdentity };
}

function cloudtrail(eventName: string, requestParameters: object) {
  return management('cloudtrail', eventName, requestParameters);
}

function management(service: string, eventName: string, requestParameters: object) {
  const eventSource = `${service}.amazonaws.com`;
  return { eventCategory: 'Management', eventSource, eventName, readOnly: false, requestParameters, ...FROM_A_PERSON };
}

/** What a service of AWS does has its name in place of an address. */
function by(service: string) {
  return { sourceIPAddress: `${service}.amazonaws.com` };
}
