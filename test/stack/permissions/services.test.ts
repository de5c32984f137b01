import { describe, expect, it } from 'vitest';
import { type Context, isAllowed } from '../../support/aws/iam.ts';
import { policiesOf } from '../../support/aws/iam-world.ts';
import { deployStack } from '../../support/stack/deployed-stack.ts';
import { exampleForm } from '../../unit/settings/example-form.ts';

const OTHER_ACCOUNT = '999999999999';
const { resources, arnOf, urlTarget, account, region } = deployStack('test', { ...exampleForm(), trail: {} });
const policies = policiesOf(resources);
const arnsOf = (type: string) => resources.filter((one) => one.type === type).flatMap(({ arn = [] }) => arn);
const key = arnOf('ClientSecrets', 'AWS::KMS::Key');
const topic = arnOf('OperatorTopic', 'AWS::SNS::Topic');

/** On behalf of a resource of an account. */
const from = (arn: string, of = account) => ({ 'aws:SourceArn': arn, 'aws:SourceAccount': of });

function may(requester: string, action: string, resource: string, context: Context = {}): boolean {
  return isAllowed(policies, { requester, action, resource, context });
}

describe('an alarm', () => {
  const CLOUDWATCH = 'cloudwatch.amazonaws.com';
  const encrypted = (arn: string) => ({ 'kms:EncryptionContext:aws:sns:topicArn': arn });

  it.each(arnsOf('AWS::CloudWatch::Alarm'))('can tell the operators: %s', (arn) => {
    expect(may(CLOUDWATCH, 'sns:Publish', topic, from(arn))).toBe(true);
    for (const use of ['kms:GenerateDataKey', 'kms:Decrypt']) {
      expect(may(CLOUDWATCH, use, key, { ...from(arn), ...encrypted(topic) })).toBe(true);
      expect(may(CLOUDWATCH, use, key, { ...from(arn), ...encrypted(`${topic}-2`) })).toBe(false);
      expect(may(CLOUDWATCH, use, key, from(arn))).toBe(false);
    }
  });

  it('of another account cannot', () => {
    const foreign = from(`arn:aws:cloudwatch:${region}:${OTHER_ACCOUNT}:alarm:any`, OTHER_ACCOUNT);
    expect(may(CLOUDWATCH, 'sns:Publish', topic, foreign)).toBe(false);
    expect(may(CLOUDWATCH, 'kms:GenerateDataKey', key, { ...foreign, ...encrypted(topic) })).toBe(false);
  });
});

it.each(arnsOf('AWS::Logs::LogGroup'))('CloudWatch Logs can encrypt %s, no log of others, nor elsewhere', (arn) => {
  const LOGS = `logs.${region}.amazonaws.com`;
  const of = (logGroup: string) => ({ 'kms:EncryptionContext:aws:logs:arn': logGroup.replace(/:\*$/, '') });
  for (const use of ['Encrypt', 'Decrypt', 'GenerateDataKey', 'ReEncryptFrom', 'ReEncryptTo', 'DescribeKey']) {
    expect(may(LOGS, `kms:${use}`, key, of(arn))).toBe(true);
    expect(may('logs.us-east-1.amazonaws.com', `kms:${use}`, key, of(arn))).toBe(false);
    expect(may(LOGS, `kms:${use}`, key, of(arn.replace(account, OTHER_ACCOUNT)))).toBe(false);
    expect(may(LOGS, `kms:${use}`, key, of(`arn:aws:logs:${region}:${account}:log-group:others`))).toBe(false);
    expect(may(LOGS, `kms:${use}`, key)).toBe(false);
  }
});

it('EventBridge can start the health function by its rule, nothing else, and by no other rule', () => {
  const [EVENTS, start] = ['events.amazonaws.com', 'lambda:InvokeFunction'];
  const rule = arnOf('CredentialHealth', 'AWS::Events::Rule');
  const health = arnOf('CredentialHealth', 'AWS::Lambda::Function');
  expect(may(EVENTS, start, health, from(rule))).toBe(true);
  expect(may(EVENTS, start, health, from(`${rule}-2`))).toBe(false);
  const others = [urlTarget, arnOf('TokenEndpoint', 'AWS::Lambda::Function')];
  expect(others.filter((other) => may(EVENTS, start, other, from(rule)))).toEqual([]);
});

describe('the role that a service takes on', () => {
  const schedules = `arn:aws:scheduler:${region}:${account}:schedule-group/default`;
  const deployments = arnOf('TokenEndpointCanaryGroup', 'AWS::CodeDeploy::DeploymentGroup');
  const takers = (
    [
      ['lambda', 'TokenEndpointRole'],
      ['lambda', 'CredentialHealthRole'],
      ['lambda', 'ReleaseCheckRole'],
      ['scheduler', 'CredentialHealthSchedulerRole', schedules],
      ['codedeploy', 'TokenEndpointCanaryRole', deployments],
      ['cloudtrail', 'MonitoringTrailLogsRole', arnOf('MonitoringTrail', 'AWS::CloudTrail::Trail')],
    ] as const
  ).map(([name, construct, source = '']) => {
    return { service: `${name}.amazonaws.com`, construct, role: arnOf(construct, 'AWS::IAM::Role'), source };
  });
  const roles = arnsOf('AWS::IAM::Role');

  it.each(takers)('is its own and no other: $service takes $construct', ({ service, role, source }) => {
    expect(may(service, 'sts:AssumeRole', role, from(source))).toBe(true);
    const own = takers.filter((one) => one.service === service).map((one) => one.role);
    const others = roles.filter((each) => !own.includes(each));
    expect(others.filter((other) => may(service, 'sts:AssumeRole', other, from(source)))).toEqual([]);
    const foreign = [from(`${source}-2`), from(source.replace(account, OTHER_ACCOUNT), OTHER_ACCOUNT), {}];
    const isBound = foreign.every((context) => !may(service, 'sts:AssumeRole', role, context));
    expect(isBound, 'on behalf of these resources alone').toBe(source !== '');
  });

  it.each(['ec2', 'ecs-tasks', 'events'])('cannot be assumed by another service: %s', (service) => {
    expect(roles.filter((each) => may(`${service}.amazonaws.com`, 'sts:AssumeRole', each))).toEqual([]);
  });
});

describe('the key', () => {
  it.each(['s3', 'sns', 'sqs', 'events', 'lambda', 'dynamodb', 'secretsmanager', 'codedeploy', 'delivery.logs'])(
    'cannot be used by the service %s on its own',
    (service) => {
      const context = { 'aws:SourceAccount': account, 'kms:EncryptionContext:aws:sns:topicArn': topic };
      const uses = ['kms:Decrypt', 'kms:GenerateDataKey', 'kms:Encrypt', 'kms:CreateGrant'];
      expect(uses.filter((use) => may(`${service}.amazonaws.com`, use, key, context))).toEqual([]);
    },
  );

  it('cannot be used by an administrator of another account', () => {
    const requester = `arn:aws:iam::${OTHER_ACCOUNT}:role/administrator`;
    const Statement = { Effect: 'Allow', Action: '*', Resource: '*' };
    const both = policiesOf(resources, { [requester]: { Version: '2012-10-17', Statement } });
    const context = { 'kms:CallerAccount': OTHER_ACCOUNT, 'kms:ViaService': `secretsmanager.${region}.amazonaws.com` };
    const actions = ['kms:Decrypt', 'kms:PutKeyPolicy', 'kms:CreateGrant', 'kms:DescribeKey'];
    expect(actions.filter((action) => isAllowed(both, { requester, action, resource: key, context }))).toEqual([]);
  });
});
