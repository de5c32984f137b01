import { describe, expect, it } from 'vitest';
import { changed, exampleForm } from '../unit/settings/example-form.ts';
import { resourceOf, resourcesOf, type Statement, synthesise } from './synthesise.ts';

const stack = synthesise('test', changed(exampleForm(), 'health', { every: 'rate(30 minutes)' }));
const healthFunction = inHealth('Function', 'AWS::Lambda::Function');
const role = inHealth('Role', 'AWS::IAM::Role');
const probe = inHealth('Probe', 'AWS::IAM::Role');
const ALIAS_ARN = { Ref: resourceOf(stack, 'TokenEndpoint', 'AWS::Lambda::Alias').id };
const QUEUE_ARN = arnOf('FailedEvents', 'AWS::SQS::Queue');
const TOPIC_ARN = { Ref: resourceOf(stack, 'OperatorTopic', 'AWS::SNS::Topic').id };
const TABLE = 'token-broker-test';
const KEY_ARN = arnOf('ClientSecrets', 'AWS::KMS::Key');
const CALL_THE_URL = [
  {
    Effect: 'Allow',
    Action: 'lambda:InvokeFunctionUrl',
    Resource: ALIAS_ARN,
    Condition: { StringEquals: { 'lambda:FunctionUrlAuthType': 'AWS_IAM' } },
  },
  {
    Effect: 'Allow',
    Action: 'lambda:InvokeFunction',
    Resource: ALIAS_ARN,
    Condition: { Bool: { 'lambda:InvokedViaFunctionUrl': 'true' } },
  },
];

describe('the health function', () => {
  it('is called by its environment and has time for the longest run', () => {
    expect(healthFunction.Properties).toMatchObject({
      FunctionName: 'token-broker-health-test',
      Runtime: 'nodejs24.x',
      Architectures: ['arm64'],
      MemorySize: 256,
      Timeout: 720,
    });
  });

  it('knows where the broker is, what to check, whom to tell and how often it runs', () => {
    expect(healthFunction.Properties.Environment.Variables).toEqual({
      TOKEN_BROKER_ENVIRONMENT: 'test',
      TOKEN_BROKER_URL: {
        'Fn::GetAtt': [resourceOf(stack, 'TokenEndpoint', 'AWS::Lambda::Url').id, 'FunctionUrl'],
      },
      TOKEN_BROKER_TABLE: TABLE,
      TOKEN_BROKER_SERVICES: 'customer-insights merchant-payment-cleansing',
      TOKEN_BROKER_SINGLE_TOKEN_SERVICES: '-',
      TOKEN_BROKER_TOPIC: TOPIC_ARN,
      TOKEN_BROKER_PROBE_ROLE: { 'Fn::GetAtt': [probe.id, 'Arn'] },
      TOKEN_BROKER_HEALTH_INTERVAL_SECONDS: '1800',
    });
  });

  it('may list and describe secrets, call the URL, remember, notify and become the probe, and nothing else', () => {
    expect(statementsOf('Role')).toEqual([
      {
        Effect: 'Allow',
        Action: ['logs:CreateLogStream', 'logs:PutLogEvents'],
        Resource: { 'Fn::GetAtt': [inHealth('Log', 'AWS::Logs::LogGroup').id, 'Arn'] },
      },
      { Effect: 'Allow', Action: 'sqs:SendMessage', Resource: QUEUE_ARN },
      keyUse('sqs', ['kms:Decrypt', 'kms:GenerateDataKey'], { 'kms:EncryptionContext:aws:sqs:arn': QUEUE_ARN }),
      ...CALL_THE_URL,
      { Effect: 'Allow', Action: 'secretsmanager:ListSecrets', Resource: '*' },
      {
        Effect: 'Allow',
        Action: 'secretsmanager:DescribeSecret',
        Resource: 'arn:aws:secretsmanager:eu-west-1:111111111111:secret:token-broker/test/*',
      },
      {
        Effect: 'Allow',
        Action: ['dynamodb:GetItem', 'dynamodb:UpdateItem'],
        Resource: `arn:aws:dynamodb:eu-west-1:111111111111:table/${TABLE}`,
        Condition: { 'ForAllValues:StringLike': { 'dynamodb:LeadingKeys': ['notify:*'] } },
      },
      keyUse('dynamodb', ['kms:Decrypt', 'kms:Encrypt', 'kms:GenerateDataKey'], {
        'kms:EncryptionContext:aws:dynamodb:tableName': TABLE,
        'kms:EncryptionContext:aws:dynamodb:subscriberId': '111111111111',
      }),
      keyUse('dynamodb', 'kms:DescribeKey', {}),
      { Effect: 'Allow', Action: ['sns:GetTopicAttributes', 'sns:Publish'], Resource: TOPIC_ARN },
      keyUse('sns', ['kms:Decrypt', 'kms:GenerateDataKey'], { 'kms:EncryptionContext:aws:sns:topicArn': TOPIC_ARN }),
      { Effect: 'Allow', Action: 'sts:AssumeRole', Resource: { 'Fn::GetAtt': [probe.id, 'Arn'] } },
    ]);
  });

  it('knows on which services a new token ends the one before', () => {
    const form = changed(exampleForm(), 'services/customer-insights/singleActiveToken', true);
    const { Properties } = resourceOf(synthesise('test', form), 'CredentialHealthFunction', 'AWS::Lambda::Function');
    expect(Properties.Environment.Variables.TOKEN_BROKER_SINGLE_TOKEN_SERVICES).toBe('customer-insights');
  });

  it('is called twice more when it fails within ten minutes, and then the event goes to the queue', () => {
    expect(inHealth('Function', 'AWS::Lambda::EventInvokeConfig').Properties).toMatchObject({
      FunctionName: { Ref: healthFunction.id },
      MaximumRetryAttempts: 2,
      MaximumEventAgeInSeconds: 600,
      DestinationConfig: { OnFailure: { Destination: QUEUE_ARN } },
    });
  });
});

describe('the schedule of the health function', () => {
  const { Properties } = inHealth('Schedule', 'AWS::Scheduler::Schedule');
  const scheduler = inHealth('SchedulerRole', 'AWS::IAM::Role');

  it('calls it as often as the settings say, again once when Lambda is busy, and not before it is allowed to', () => {
    expect(Properties).toMatchObject({
      ScheduleExpression: 'rate(30 minutes)',
      State: 'ENABLED',
      FlexibleTimeWindow: { Mode: 'OFF' },
      Target: {
        Arn: { 'Fn::GetAtt': [healthFunction.id, 'Arn'] },
        RoleArn: { 'Fn::GetAtt': [scheduler.id, 'Arn'] },
        RetryPolicy: { MaximumRetryAttempts: 1 },
      },
    });
    const { DependsOn } = inHealth('Schedule', 'AWS::Scheduler::Schedule');
    expect(DependsOn).toEqual(expect.arrayContaining([inHealth('SchedulerRole', 'AWS::IAM::Policy').id]));
  });

  it('is not the only one that starts it: hundreds of changed secrets start at most ten at a time', () => {
    expect(healthFunction.Properties.ReservedConcurrentExecutions).toBe(10);
    const unlimited = synthesise('test', { ...exampleForm(), healthConcurrency: 'none' });
    const { Properties: without } = resourceOf(unlimited, 'CredentialHealth', 'AWS::Lambda::Function');
    expect(without).not.toHaveProperty('ReservedConcurrentExecutions');
  });

  it('calls it once an hour when the settings say nothing', () => {
    const schedule = resourceOf(synthesise('test', exampleForm()), 'CredentialHealth', 'AWS::Scheduler::Schedule');
    expect(schedule.Properties.ScheduleExpression).toBe('rate(1 hour)');
  });

  it('has a role that only schedules of this account can take on, and that can call nothing else', () => {
    expect(scheduler.Properties.AssumeRolePolicyDocument.Statement).toEqual([
      {
        Effect: 'Allow',
        Action: 'sts:AssumeRole',
        Principal: { Service: 'scheduler.amazonaws.com' },
        Condition: {
          StringEquals: {
            'aws:SourceAccount': '111111111111',
            'aws:SourceArn': 'arn:aws:scheduler:eu-west-1:111111111111:schedule-group/default',
          },
        },
      },
    ]);
    expect(statementsOf('SchedulerRole')).toEqual([
      { Effect: 'Allow', Action: 'lambda:InvokeFunction', Resource: { 'Fn::GetAtt': [healthFunction.id, 'Arn'] } },
    ]);
  });
});

describe('the rule of the health function', () => {
  const rule = inHealth('Rule', 'AWS::Events::Rule');

  it('takes the event of a new current version, of this environment’s clients only', () => {
    expect(rule.Properties.EventPattern).toEqual({
      account: ['111111111111'],
      source: ['aws.secretsmanager'],
      'detail-type': ['Secret Label Updated'],
      detail: { name: [{ prefix: 'token-broker/test/' }], labelUpdated: ['AWSCURRENT'] },
    });
    expect(rule.Properties.State).toBe('ENABLED');
  });

  it('calls the function, for an hour where it cannot, and alone may do so', () => {
    const FunctionName = { 'Fn::GetAtt': [healthFunction.id, 'Arn'] };
    expect(rule.Properties.Targets).toMatchObject([
      { Arn: FunctionName, RetryPolicy: { MaximumRetryAttempts: 2, MaximumEventAgeInSeconds: 3_600 } },
    ]);
    const permissions = resourcesOf(stack, 'AWS::Lambda::Permission').map(({ Properties }) => Properties);
    expect(permissions.filter(({ Principal }) => Principal === 'events.amazonaws.com')).toEqual([
      {
        FunctionName,
        Action: 'lambda:InvokeFunction',
        Principal: 'events.amazonaws.com',
        SourceArn: { 'Fn::GetAtt': [rule.id, 'Arn'] },
      },
    ]);
  });
});

describe('the probe', () => {
  it('is a role that the health function alone can take on', () => {
    expect(probe.Properties.AssumeRolePolicyDocument.Statement).toEqual([
      { Effect: 'Allow', Action: 'sts:AssumeRole', Principal: { AWS: { 'Fn::GetAtt': [role.id, 'Arn'] } } },
    ]);
  });

  it('may call the URL and nothing else', () => {
    expect(statementsOf('Probe')).toEqual(CALL_THE_URL);
  });

  it('is not among those who may check', () => {
    const tokenFunction = resourceOf(stack, 'TokenEndpoint', 'AWS::Lambda::Function');
    const checkers = JSON.stringify(tokenFunction.Properties.Environment.Variables.TOKEN_BROKER_CHECKER_ROLES);
    expect(checkers).toContain(role.id);
    expect(checkers).not.toContain(probe.id);
  });
});

function inHealth(construct: string, type: string) {
  return resourceOf(stack, `CredentialHealth${construct}`, type);
}

function arnOf(construct: string, type: string) {
  return { 'Fn::GetAtt': [resourceOf(stack, construct, type).id, 'Arn'] };
}

function statementsOf(construct: string): readonly Statement[] {
  return inHealth(`${construct}DefaultPolicy`, 'AWS::IAM::Policy').Properties.PolicyDocument.Statement;
}

function keyUse(service: string, Action: string | readonly string[], context: object) {
  return {
    Effect: 'Allow',
    Action,
    Resource: KEY_ARN,
    Condition: { StringEquals: { 'kms:ViaService': `${service}.eu-west-1.amazonaws.com`, ...context } },
  };
}
