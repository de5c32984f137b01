import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { deployed, finder } from '../support/stack/deployed-stack.ts';
import { resourceOf, type Synthesised, synthesise } from '../support/stack/synthesise.ts';
import { exampleForm } from '../unit/settings/example-form.ts';

const KEEPER = 'arn:aws:iam::111111111111:role/security/key-keeper';
const STOPPER = 'arn:aws:iam::111111111111:role/emergency';
const stack = synthesise('test', {
  ...exampleForm(),
  trail: { sealingKeyWriters: [KEEPER], secretPolicyWriters: [STOPPER] },
});
const FUNCTION = 'arn:aws:lambda:eu-west-1:111111111111:function:token-broker-test';
const TRAIL = 'arn:aws:cloudtrail:eu-west-1:111111111111:trail/token-broker-test';
const inTrail = (type: string) => resourceOf(stack, 'MonitoringTrail', type);
const filters = filtersOf(stack);
const [, KEY_ID = ''] = /key\/(\S+)$/.exec(finder(deployed(stack))('ClientSecrets', 'AWS::KMS::Key').arn ?? '') ?? [];

describe('the trail', () => {
  const trail = inTrail('AWS::CloudTrail::Trail');

  it('records every invocation of the token function, of its versions and its alias, and every change and read', () => {
    const watched = { IsLogging: true, EnableLogFileValidation: true, IsMultiRegionTrail: false };
    expect(trail.Properties).toMatchObject({ ...watched, TrailName: 'token-broker-test' });
    const selectors: readonly { readonly FieldSelectors: unknown }[] = trail.Properties.AdvancedEventSelectors;
    expect(selectors.map(({ FieldSelectors }) => FieldSelectors)).toEqual([
      [
        { Field: 'eventCategory', Equals: ['Data'] },
        { Field: 'resources.type', Equals: ['AWS::Lambda::Function'] },
        { Field: 'resources.ARN', Equals: [FUNCTION], StartsWith: [`${FUNCTION}:`] },
      ],
      [{ Field: 'eventCategory', Equals: ['Management'] }],
    ]);
    // CloudTrail refuses a trail whose bucket or log it may not write to yet.
    const policies = ['AWS::S3::BucketPolicy', 'AWS::IAM::Policy'].map((type) => inTrail(type).id);
    expect(trail.DependsOn).toEqual(expect.arrayContaining(policies));
  });

  it('keeps its records as long as the logs, also when the stack goes, where only this trail writes', () => {
    const { id, DeletionPolicy, Properties } = inTrail('AWS::S3::Bucket');
    const [rule] = Properties.LifecycleConfiguration.Rules;
    const kept = [inTrail('AWS::Logs::LogGroup').Properties.RetentionInDays, rule.ExpirationInDays];
    expect([DeletionPolicy, ...kept]).toEqual(['Retain', 365, 365]);
    const [, readsAcl, writes, ...others] = inTrail('AWS::S3::BucketPolicy').Properties.PolicyDocument.Statement;
    expect(readsAcl).toMatchObject({ Action: 's3:GetBucketAcl', Principal: writes.Principal });
    expect(writes).toMatchObject({
      Principal: { Service: 'cloudtrail.amazonaws.com' },
      Action: 's3:PutObject',
      Resource: { 'Fn::Join': ['', [{ 'Fn::GetAtt': [id, 'Arn'] }, '/AWSLogs/111111111111/*']] },
      Condition: { StringEquals: { 'aws:SourceArn': TRAIL, 'aws:SourceAccount': '111111111111' } },
    });
    expect(others).toEqual([]);
  });

  it('has filters that CloudWatch takes, all on its own log', () => {
    const log = inTrail('AWS::Logs::LogGroup');
    expect(trail.Properties.CloudWatchLogsLogGroupArn).toEqual({ 'Fn::GetAtt': [log.id, 'Arn'] });
    expect(filters).toHaveLength(10);
    for (const { LogGroupName, FilterPattern } of filters) {
      expect(LogGroupName).toContain(log.id);
      // The limit of CloudWatch.
      expect(FilterPattern.length).toBeLessThanOrEqual(1_024);
    }
  });
});

describe('a record of the trail', () => {
  const invocation = { ...record('lambda', 'Invoke'), eventCategory: 'Data' };
  const newCode = (functionName: string) => record('lambda', 'UpdateFunctionCode20150331v2', { functionName });
  const KEY_ARN = `arn:aws:kms:eu-west-1:111111111111:key/${KEY_ID}`;
  const by = (service: string) => ({ sourceIPAddress: `${service}.amazonaws.com` });

  it.each<[what: string, record: object, alarm?: string]>([
    ['a call of the URL', { ...invocation, eventName: 'InvokeFunctionUrl' }],
    ['a direct invocation', invocation, 'DirectInvocations'],
    ['new code by a developer', newCode('token-broker-test'), 'FunctionChanges'],
    ['a change of the alias', newCode(`${FUNCTION}:live`), 'FunctionChanges'],
    ['new code of the function of health', newCode('token-broker-health-test'), 'FunctionChanges'],
    ['new code of the release check', newCode('token-broker-release-check-test'), 'FunctionChanges'],
    ['new code by a deployment', { ...newCode('token-broker-test'), ...by('cloudformation') }],
    ['an alias that the canary moves', { ...newCode('token-broker-test'), ...by('codedeploy') }],
    ['a function with a longer name', newCode(`${FUNCTION}-2`)],
    ['a look at the function', { ...newCode('token-broker-test'), readOnly: true }],
    ['a new sealing key by an operator', newKey('operator'), 'SealingKeyWrites'],
    ['a new sealing key by the role that may', newKey('security/key-keeper')],
    ['a new sealing key by a role with a longer name', newKey('security/key-keeper-2'), 'SealingKeyWrites'],
    ['a sealing key that a deployment makes', { ...newKey('deploy'), ...by('cloudformation') }],
    ['a new version of a client’s secret', newKey('operator', 'token-broker/test/acme')],
    [
      'a client’s secret that a deployment opens',
      { ...ofSecret('PutResourcePolicy', 'deploy'), ...by('cloudformation') },
      'SecretPolicyWrites',
    ],
    ['one whose policy a user deletes', ofSecret('DeleteResourcePolicy'), 'SecretPolicyWrites'],
    ['one that is copied to another region', ofSecret('ReplicateSecretToRegions', 'operator'), 'SecretPolicyWrites'],
    ['one that the emergency role denies to the broker', ofSecret('PutResourcePolicy', 'emergency')],
    ['one that the token function reads', ofSecret('GetSecretValue', 'token-broker-test')],
    ['one that the health function reads', ofSecret('GetSecretValue', 'TokenBroker-test-Health'), 'SecretReads'],
    ['one that a user reads by its ARN', { ...ofSecret('GetSecretValue'), readOnly: true }, 'SecretReads'],
    ['one that is looked at', { ...ofSecret('DescribeSecret', 'operator'), readOnly: true }],
    ['a sealing key that an operator reads', ofKeySecret('GetSecretValue', 'operator'), 'SealingKeyReads'],
    ['a sealing key that a user reads by its ARN', ofKeySecret('GetSecretValue'), 'SealingKeyReads'],
    ['a sealing key that the token function reads', ofKeySecret('GetSecretValue', 'token-broker-test')],
    ['a sealing key that its writer reads', ofKeySecret('GetSecretValue', 'security/key-keeper')],
    ['a sealing key that is looked at', ofKeySecret('DescribeSecret', 'operator')],
    ['any secrets that are read in a batch', record('secretsmanager', 'BatchGetSecretValue'), 'BatchReads'],
    ['a list of secrets', { ...record('secretsmanager', 'ListSecrets'), readOnly: true }],
    ['a grant on the key', record('kms', 'CreateGrant', { keyId: KEY_ARN }), 'KeyGrants'],
    ['a grant for the table', { ...record('kms', 'CreateGrant', { keyId: KEY_ARN }), ...by('dynamodb') }],
    ['a grant by a deployment', { ...record('kms', 'CreateGrant', { keyId: KEY_ARN }), ...by('cloudformation') }],
    ['a grant on another key', record('kms', 'CreateGrant', { keyId: 'other' })],
    ['one of another environment', ofSecret('GetSecretValue', 'operator', 'token-broker/test-2/acme')],
    ['another policy of the key', record('kms', 'PutKeyPolicy', { keyId: KEY_ID }), 'KeyChanges'],
    ['the key that is disabled', record('kms', 'DisableKey', { keyId: KEY_ID }), 'KeyChanges'],
    ['the key that is to be deleted', record('kms', 'ScheduleKeyDeletion', { keyId: KEY_ARN }), 'KeyChanges'],
    ['another key that is to be deleted', record('kms', 'ScheduleKeyDeletion', { keyId: 'other' })],
    ['the key in use', { ...record('kms', 'Decrypt', { keyId: KEY_ID }), readOnly: true }],
    ['a trail that is stopped', record('cloudtrail', 'StopLogging', { name: TRAIL }), 'TrailChanges'],
    ['one that records less', record('cloudtrail', 'Put', { trailName: 'token-broker-test' }), 'TrailChanges'],
    ['another trail that is stopped', record('cloudtrail', 'StopLogging', { name: `${TRAIL}-2` })],
  ])('rings when it must, and nothing else: %s', (_, one, alarm) => {
    const counted = filters.filter(({ FilterPattern }) => patternMatches(FilterPattern, one));
    expect(counted.flatMap((filter) => filter.MetricTransformations)).toMatchObject(
      alarm === undefined ? [] : [{ MetricNamespace: 'TokenBrokerTrail/test', MetricName: alarm, MetricValue: '1' }],
    );
  });

  it('rings for every writer of the sealing key and of the policies when the settings name none', () => {
    const silent = filtersOf(synthesise('test', { ...exampleForm(), trail: {} }));
    const ringing = (one: object) => silent.some(({ FilterPattern }) => patternMatches(FilterPattern, one));
    expect(ringing(newKey('security/key-keeper'))).toBe(true);
    expect(ringing(ofSecret('PutResourcePolicy', 'emergency'))).toBe(true);
    expect(ringing(ofSecret('GetSecretValue', 'token-broker-test'))).toBe(false);
  });
});

/** The record of a person's change; one of an AWS service has the service's name in place of an address. */
function record(service: string, eventName: string, requestParameters: object = {}) {
  const eventSource = `${service}.amazonaws.com`;
  const what = { eventCategory: 'Management', eventSource, eventName, readOnly: false, requestParameters };
  return { ...what, sourceIPAddress: '203.0.113.7' };
}

function newKey(role: string, name = 'token-broker-keys/test/sealing') {
  return ofSecret('PutSecretValue', role, name);
}

/** The record of a read of the sealing key. */
function ofKeySecret(eventName: string, role?: string) {
  return { ...ofSecret(eventName, role, 'token-broker-keys/test/sealing'), readOnly: true };
}

function ofSecret(eventName: string, role?: string, name = 'token-broker/test/acme') {
  const secretId = role === undefined ? `arn:aws:secretsmanager:eu-west-1:111111111111:secret:${name}-A1b2C3` : name;
  const userIdentity = role === undefined ? { type: 'IAMUser' } : identityOf(role);
  return { ...record('secretsmanager', eventName, { secretId }), userIdentity };
}

function identityOf(role: string) {
  const sessionIssuer = { type: 'Role', arn: `arn:aws:iam::111111111111:role/${role}` };
  return { type: 'AssumedRole', sessionContext: { sessionIssuer } };
}

function filtersOf(one: Synthesised) {
  const all = deployed(one).filter(({ type }) => type === 'AWS::Logs::MetricFilter');
  return all.map(({ properties }) => properties);
}

/**
 * Whether a record matches a filter pattern of CloudWatch Logs, as far as patterns here go: members joined by `&&` and
 * `||` in parentheses, compared with texts that may hold `*`. A comparison of a member that is not there never holds.
 * Such a pattern is JavaScript once its comparisons are calls; any other pattern throws.
 *
 * @see https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/FilterAndPatternSyntaxForMetricFilters.html
 */
function patternMatches(pattern: string, one: unknown): boolean {
  const [, conditions = ''] = /^\{(.*)\}$/.exec(pattern) ?? [];
  const script = conditions
    .replaceAll(/\$\.([\w.]+) (=|!=) ("[^"]*")/g, 'compares("$1", $3, "$2")')
    .replaceAll(/\$\.([\w.]+) NOT EXISTS/g, '(member("$1") === undefined)')
    .replaceAll(/\$\.([\w.]+) IS (TRUE|FALSE)/g, '(`$${member("$1")}` === "$2".toLowerCase())');
  const member = (path: string) => path.split('.').reduce<unknown>((value, step) => Object(value)[step], one);
  const compares = (path: string, text: string, operator: string) => {
    const value = member(path);
    const source = text.replaceAll(/[.+?^${}()|[\]\\/]/g, '\\$&').replaceAll('*', '.*');
    return typeof value === 'string' && new RegExp(`^${source}$`).test(value) === (operator === '=');
  };
  return runInNewContext(script, { member, compares });
}
