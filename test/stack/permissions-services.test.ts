import { describe, expect, it } from 'vitest';
import { isAllowed } from '../support/iam.ts';
import type { Context } from '../support/iam-conditions.ts';
import { policiesOf } from '../support/iam-world.ts';
import { exampleForm } from '../unit/settings/example-form.ts';
import { deployStack } from './deployed-stack.ts';

const { account, region } = exampleForm();
const OTHER_ACCOUNT = '999999999999';

const { resources, arnOf, urlTarget } = deployStack('test', { ...exampleForm(), trail: {} });
const policies = policiesOf(resources);
const ofType = (type: string) => resources.filter((resource) => resource.type === type);
const key = arnOf('ClientSecrets', 'AWS::KMS::Key');
const topic = arnOf('OperatorTopic', 'AWS::SNS::Topic');
const health = arnOf('CredentialHealth', 'AWS::Lambda::Function');
const role = (construct: string) => arnOf(construct, 'AWS::IAM::Role');

function serviceMay(name: string, action: string, resource: string, context: Context = {}): boolean {
  return isAllowed(policies, { requester: { kind: 'service', name }, action, resource, context });
}

describe('an alarm', () => {
  const alarms = ofType('AWS::CloudWatch::Alarm');
  const from = (arn: string, of = account) => ({ 'aws:SourceArn': arn, 'aws:SourceAccount': of });
  const encrypted = (arn: string) => ({ 'kms:EncryptionContext:aws:sns:topicArn': arn });
  const CLOUDWATCH = 'cloudwatch.amazonaws.com';

  it.each(alarms)('can tell the operators: $ref', ({ arn = '', properties }) => {
    for (const action of [...(properties.AlarmActions ?? []), ...(properties.OKActions ?? [])]) {
      expect(serviceMay(CLOUDWATCH, 'sns:Publish', action, from(arn))).toBe(true);
      for (const use of ['kms:GenerateDataKey', 'kms:Decrypt']) {
        expect(serviceMay(CLOUDWATCH, use, key, { ...from(arn), ...encrypted(action) })).toBe(true);
      }
    }
  });

  it('does: some have actions', () => {
    expect(new Set(alarms.flatMap(({ properties }) => properties.AlarmActions ?? []))).toEqual(new Set([topic]));
  });

  it('of another account cannot, and none can use the key for another topic', () => {
    const [{ arn = '' } = {}] = alarms;
    const foreign = from(arn.replace(account, OTHER_ACCOUNT), OTHER_ACCOUNT);
    expect(serviceMay(CLOUDWATCH, 'sns:Publish', topic, foreign)).toBe(false);
    expect(serviceMay(CLOUDWATCH, 'kms:GenerateDataKey', key, { ...foreign, ...encrypted(topic) })).toBe(false);
    expect(serviceMay(CLOUDWATCH, 'kms:Decrypt', key, { ...from(arn), ...encrypted(`${topic}-2`) })).toBe(false);
    expect(serviceMay(CLOUDWATCH, 'kms:Decrypt', key, from(arn))).toBe(false);
  });
});

describe('CloudWatch Logs', () => {
  const LOGS = `logs.${region}.amazonaws.com`;
  const USES = ['Encrypt', 'Decrypt', 'GenerateDataKey', 'ReEncryptFrom', 'ReEncryptTo', 'DescribeKey'].map(
    (use) => `kms:${use}`,
  );
  const of = (logGroup: string) => ({ 'kms:EncryptionContext:aws:logs:arn': logGroup.replace(/:\*$/, '') });

  it.each(ofType('AWS::Logs::LogGroup'))('can encrypt $id', ({ arn = '', properties }) => {
    expect(properties.KmsKeyId).toBe(key);
    expect(USES.filter((use) => !serviceMay(LOGS, use, key, of(arn)))).toEqual([]);
  });

  it('can encrypt no log of others with the key, nor from another region', () => {
    const [{ arn = '' } = {}] = ofType('AWS::Logs::LogGroup');
    const foreign = [`arn:aws:logs:${region}:${account}:log-group:others`, arn.replace(account, OTHER_ACCOUNT)];
    expect(foreign.filter((logGroup) => serviceMay(LOGS, 'kms:Decrypt', key, of(logGroup)))).toEqual([]);
    expect(serviceMay(LOGS, 'kms:Decrypt', key)).toBe(false);
    expect(serviceMay('logs.us-east-1.amazonaws.com', 'kms:Decrypt', key, of(arn))).toBe(false);
  });
});

describe('EventBridge', () => {
  const EVENTS = 'events.amazonaws.com';
  const [{ arn: rule = '', properties } = { properties: {} }] = ofType('AWS::Events::Rule');
  const by = (arn: string) => ({ 'aws:SourceArn': arn, 'aws:SourceAccount': account });

  it('can start the health function by its rule', () => {
    expect(properties.Targets).toMatchObject([{ Arn: health }]);
    expect(serviceMay(EVENTS, 'lambda:InvokeFunction', health, by(rule))).toBe(true);
  });

  it('can start nothing else, and by no other rule', () => {
    expect(serviceMay(EVENTS, 'lambda:InvokeFunction', health, by(`${rule}-2`))).toBe(false);
    const others = [urlTarget, arnOf('TokenEndpoint', 'AWS::Lambda::Function')];
    expect(others.filter((other) => serviceMay(EVENTS, 'lambda:InvokeFunction', other, by(rule)))).toEqual([]);
  });
});

describe('the role that a service takes on', () => {
  const GROUP = `arn:aws:scheduler:${region}:${account}:schedule-group/default`;
  const deploymentGroup = arnOf('TokenEndpointCanaryGroup', 'AWS::CodeDeploy::DeploymentGroup');
  const takers: readonly [service: string, role: string, context: Context][] = [
    ['lambda.amazonaws.com', role('TokenEndpointRole'), {}],
    ['lambda.amazonaws.com', role('CredentialHealthRole'), {}],
    [
      'scheduler.amazonaws.com',
      role('CredentialHealthSchedulerRole'),
      { 'aws:SourceArn': GROUP, 'aws:SourceAccount': account },
    ],
    [
      'codedeploy.amazonaws.com',
      role('TokenEndpointCanaryRole'),
      { 'aws:SourceArn': deploymentGroup, 'aws:SourceAccount': account },
    ],
    [
      'cloudtrail.amazonaws.com',
      role('MonitoringTrailLogsRole'),
      { 'aws:SourceArn': arnOf('MonitoringTrail', 'AWS::CloudTrail::Trail'), 'aws:SourceAccount': account },
    ],
  ];
  const roles = ofType('AWS::IAM::Role').flatMap(({ arn = [] }) => arn);

  it.each(takers)('is its own and no other: %s', (service, own, context) => {
    expect(serviceMay(service, 'sts:AssumeRole', own, context)).toBe(true);
    const ownOnes = takers.filter(([taker]) => taker === service).map(([, each]) => each);
    const others = roles.filter((each) => !ownOnes.includes(each));
    expect(others.filter((other) => serviceMay(service, 'sts:AssumeRole', other, context))).toEqual([]);
  });

  it.each(takers.filter(([, , context]) => 'aws:SourceArn' in context))(
    'cannot be assumed on behalf of other resources: %s',
    (service, own, context) => {
      const foreign = Object.fromEntries(
        Object.entries(context).map(([name, value]) => [name, `${value}`.replace(account, OTHER_ACCOUNT)]),
      );
      expect(serviceMay(service, 'sts:AssumeRole', own, foreign)).toBe(false);
      expect(
        serviceMay(service, 'sts:AssumeRole', own, { ...context, 'aws:SourceArn': `${context['aws:SourceArn']}-2` }),
      ).toBe(false);
      expect(serviceMay(service, 'sts:AssumeRole', own)).toBe(false);
    },
  );

  it.each(['ec2.amazonaws.com', 'ecs-tasks.amazonaws.com', 'events.amazonaws.com'])(
    'cannot be assumed by another service: %s',
    (service) => {
      expect(roles.filter((each) => serviceMay(service, 'sts:AssumeRole', each))).toEqual([]);
    },
  );
});

describe('the key', () => {
  it.each([
    's3',
    'sns',
    'sqs',
    'events',
    'scheduler',
    'lambda',
    'dynamodb',
    'secretsmanager',
    'delivery.logs',
    'codedeploy',
  ])('cannot be used by the service %s on its own', (service) => {
    const context = { 'aws:SourceAccount': account, 'kms:EncryptionContext:aws:sns:topicArn': topic };
    const uses = ['kms:Decrypt', 'kms:GenerateDataKey', 'kms:Encrypt', 'kms:CreateGrant'];
    expect(uses.filter((use) => serviceMay(`${service}.amazonaws.com`, use, key, context))).toEqual([]);
  });

  it('cannot be used by an administrator of another account', () => {
    const arn = `arn:aws:iam::${OTHER_ACCOUNT}:role/administrator`;
    const Statement = { Effect: 'Allow', Action: '*', Resource: '*' };
    const both = policiesOf(resources, { [arn]: { Version: '2012-10-17', Statement } });
    const context = { 'kms:CallerAccount': OTHER_ACCOUNT, 'kms:ViaService': `secretsmanager.${region}.amazonaws.com` };
    const actions = ['kms:Decrypt', 'kms:PutKeyPolicy', 'kms:CreateGrant', 'kms:DescribeKey'];
    const mayDo = (action: string) =>
      isAllowed(both, { requester: { kind: 'role', arn }, action, resource: key, context });
    expect(actions.filter(mayDo)).toEqual([]);
  });
});
