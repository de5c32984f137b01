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

/** On behalf of a resource of an account. */
const from = (arn: string, of = account) => ({ 'aws:SourceArn': arn, 'aws:SourceAccount': of });

function serviceMay(name: string, action: string, resource: string, context: Context = {}): boolean {
  return isAllowed(policies, { requester: { kind: 'service', name }, action, resource, context });
}

describe('an alarm', () => {
  const alarms = ofType('AWS::CloudWatch::Alarm');
  const encrypted = (arn: string) => ({ 'kms:EncryptionContext:aws:sns:topicArn': arn });
  const CLOUDWATCH = 'cloudwatch.amazonaws.com';

  it('can tell the operators', () => {
    const telling = alarms.flatMap(({ arn = '', properties: { AlarmActions = [], OKActions = [] } }) =>
      [...AlarmActions, ...OKActions].map((action) => ({ arn, action })),
    );
    expect(new Set(telling.map(({ action }) => action))).toEqual(new Set([topic]));
    for (const { arn, action } of telling) {
      expect(serviceMay(CLOUDWATCH, 'sns:Publish', action, from(arn)), arn).toBe(true);
      for (const use of ['kms:GenerateDataKey', 'kms:Decrypt']) {
        expect(serviceMay(CLOUDWATCH, use, key, { ...from(arn), ...encrypted(action) }), arn).toBe(true);
      }
    }
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
  const USES = ['Encrypt', 'Decrypt', 'GenerateDataKey', 'ReEncryptFrom', 'ReEncryptTo', 'DescribeKey'];
  const of = (logGroup: string) => ({ 'kms:EncryptionContext:aws:logs:arn': logGroup.replace(/:\*$/, '') });

  it.each(ofType('AWS::Logs::LogGroup'))('can encrypt $id', ({ arn = '', properties }) => {
    expect(properties.KmsKeyId).toBe(key);
    expect(USES.filter((use) => !serviceMay(LOGS, `kms:${use}`, key, of(arn)))).toEqual([]);
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
  const rule = arnOf('CredentialHealth', 'AWS::Events::Rule');

  it('can start the health function by its rule, nothing else, and by no other rule', () => {
    expect(serviceMay(EVENTS, 'lambda:InvokeFunction', health, from(rule))).toBe(true);
    expect(serviceMay(EVENTS, 'lambda:InvokeFunction', health, from(`${rule}-2`))).toBe(false);
    const others = [urlTarget, arnOf('TokenEndpoint', 'AWS::Lambda::Function')];
    expect(others.filter((other) => serviceMay(EVENTS, 'lambda:InvokeFunction', other, from(rule)))).toEqual([]);
  });
});

describe('the role that a service takes on', () => {
  const schedules = `arn:aws:scheduler:${region}:${account}:schedule-group/default`;
  const deployments = arnOf('TokenEndpointCanaryGroup', 'AWS::CodeDeploy::DeploymentGroup');
  const trail = arnOf('MonitoringTrail', 'AWS::CloudTrail::Trail');
  const takers: readonly [service: string, construct: string, context: Context][] = [
    ['lambda.amazonaws.com', 'TokenEndpointRole', {}],
    ['lambda.amazonaws.com', 'CredentialHealthRole', {}],
    ['lambda.amazonaws.com', 'ReleaseCheckRole', {}],
    ['scheduler.amazonaws.com', 'CredentialHealthSchedulerRole', from(schedules)],
    ['codedeploy.amazonaws.com', 'TokenEndpointCanaryRole', from(deployments)],
    ['cloudtrail.amazonaws.com', 'MonitoringTrailLogsRole', from(trail)],
  ];
  const role = (construct: string) => arnOf(construct, 'AWS::IAM::Role');
  const roles = ofType('AWS::IAM::Role').flatMap(({ arn = [] }) => arn);

  it.each(takers)('is its own and no other: %s takes %s', (service, construct, context) => {
    expect(serviceMay(service, 'sts:AssumeRole', role(construct), context)).toBe(true);
    const ownOnes = takers.filter(([taker]) => taker === service).map(([, own]) => role(own));
    const others = roles.filter((each) => !ownOnes.includes(each));
    expect(others.filter((other) => serviceMay(service, 'sts:AssumeRole', other, context))).toEqual([]);
  });

  it.each(takers.filter(([, , context]) => 'aws:SourceArn' in context))(
    'cannot be assumed on behalf of other resources: %s takes %s',
    (service, construct, context) => {
      const source = `${context['aws:SourceArn']}`;
      const foreign = [from(`${source}-2`), from(source.replace(account, OTHER_ACCOUNT), OTHER_ACCOUNT), {}];
      expect(foreign.filter((other) => serviceMay(service, 'sts:AssumeRole', role(construct), other))).toEqual([]);
    },
  );

  it.each(['ec2', 'ecs-tasks', 'events'])('cannot be assumed by another service: %s', (service) => {
    expect(roles.filter((each) => serviceMay(`${service}.amazonaws.com`, 'sts:AssumeRole', each))).toEqual([]);
  });
});

describe('the key', () => {
  const services = ['s3', 'sns', 'sqs', 'events', 'scheduler', 'lambda', 'dynamodb', 'secretsmanager', 'codedeploy'];

  it.each([...services, 'delivery.logs'])('cannot be used by the service %s on its own', (service) => {
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
