import { describe, expect, it } from 'vitest';
import { exampleForm } from '../unit/settings/example-form.ts';
import { resourceOf, resourcesOf, synthesise } from './synthesise.ts';

const notify = ['ops@example.com', 'on-call@example.com'];
const health = { every: 'rate(30 minutes)', notify };
const { services } = exampleForm();
const single = { ...services['customer-insights'], singleActiveToken: true };
const stack = synthesise('test', { ...exampleForm(), health, services: { ...services, 'customer-insights': single } });
const plain = synthesise('test', exampleForm());
const healthFunction = inHealth('Function', 'AWS::Lambda::Function');
const variables = healthFunction.Properties.Environment.Variables;

describe('the health function', () => {
  it('has time for the longest run', () => {
    expect(healthFunction.Properties.Timeout).toBe(720);
  });

  it('knows how often it runs, and on which services a new token ends the one before', () => {
    expect(variables).toMatchObject({
      TOKEN_BROKER_HEALTH_INTERVAL_SECONDS: '1800',
      TOKEN_BROKER_SERVICES: 'customer-insights merchant-payment-cleansing',
      TOKEN_BROKER_SINGLE_TOKEN_SERVICES: 'customer-insights',
    });
    const { Properties } = resourceOf(plain, 'CredentialHealthFunction', 'AWS::Lambda::Function');
    expect(Properties.Environment.Variables.TOKEN_BROKER_SINGLE_TOKEN_SERVICES).toBe('-');
  });

  it('may check, and the role of the probe may not', () => {
    const tokenFunction = resourceOf(stack, 'TokenEndpoint', 'AWS::Lambda::Function');
    const arnOf = (construct: string) => ({ 'Fn::GetAtt': [inHealth(construct, 'AWS::IAM::Role').id, 'Arn'] });
    const checkers = JSON.stringify(tokenFunction.Properties.Environment.Variables.TOKEN_BROKER_CHECKER_ROLES);
    expect(checkers).toContain(JSON.stringify(arnOf('Role')));
    expect(checkers).not.toContain('Probe');
    expect(variables.TOKEN_BROKER_PROBE_ROLE).toEqual(arnOf('Probe'));
  });

  it('starts at most ten at a time, however many secrets change, unless the settings say otherwise', () => {
    expect(healthFunction.Properties.ReservedConcurrentExecutions).toBe(10);
    const unlimited = synthesise('test', { ...exampleForm(), healthConcurrency: 'none' });
    const { Properties } = resourceOf(unlimited, 'CredentialHealth', 'AWS::Lambda::Function');
    expect(Properties).not.toHaveProperty('ReservedConcurrentExecutions');
  });

  it('is called twice more when it fails within ten minutes, and then its event is kept for two weeks', () => {
    const queue = resourceOf(stack, 'FailedEvents', 'AWS::SQS::Queue');
    expect(queue.Properties.MessageRetentionPeriod).toBe(1_209_600);
    expect(inHealth('Function', 'AWS::Lambda::EventInvokeConfig').Properties).toMatchObject({
      FunctionName: { Ref: healthFunction.id },
      MaximumRetryAttempts: 2,
      MaximumEventAgeInSeconds: 600,
      DestinationConfig: { OnFailure: { Destination: { 'Fn::GetAtt': [queue.id, 'Arn'] } } },
    });
  });
});

describe('the schedule of the health function', () => {
  it('calls it as often as the settings say, again once when Lambda is busy, and not before it is allowed to', () => {
    const { Properties, DependsOn } = inHealth('Schedule', 'AWS::Scheduler::Schedule');
    expect(Properties).toMatchObject({
      ScheduleExpression: 'rate(30 minutes)',
      State: 'ENABLED',
      FlexibleTimeWindow: { Mode: 'OFF' },
      Target: {
        Arn: { 'Fn::GetAtt': [healthFunction.id, 'Arn'] },
        RoleArn: { 'Fn::GetAtt': [inHealth('SchedulerRole', 'AWS::IAM::Role').id, 'Arn'] },
        RetryPolicy: { MaximumRetryAttempts: 1 },
      },
    });
    expect(DependsOn).toContain(inHealth('SchedulerRole', 'AWS::IAM::Policy').id);
  });
});

describe('the rule of the health function', () => {
  const { Properties } = inHealth('Rule', 'AWS::Events::Rule');

  it('takes the event of a new current version, of this environment’s clients only', () => {
    expect(Properties.State).toBe('ENABLED');
    expect(Properties.EventPattern).toEqual({
      account: ['111111111111'],
      source: ['aws.secretsmanager'],
      'detail-type': ['Secret Label Updated'],
      detail: { name: [{ prefix: 'token-broker/test/' }], labelUpdated: ['AWSCURRENT'] },
    });
  });

  it('calls the function, for an hour where it cannot', () => {
    const Arn = { 'Fn::GetAtt': [healthFunction.id, 'Arn'] };
    const RetryPolicy = { MaximumRetryAttempts: 2, MaximumEventAgeInSeconds: 3_600 };
    expect(Properties.Targets).toMatchObject([{ Arn, RetryPolicy }]);
  });
});

describe('the topic of the operators', () => {
  const topic = resourceOf(stack, 'OperatorTopic', 'AWS::SNS::Topic');

  it('is called by its environment, so that more can subscribe to it, and is the one that health tells', () => {
    expect(topic.Properties).toMatchObject({ TopicName: 'token-broker-test', DisplayName: 'Token broker test' });
    expect(variables.TOKEN_BROKER_TOPIC).toEqual({ Ref: topic.id });
  });

  it('sends e-mail to every address that the settings name, and to none when they name none', () => {
    const subscriptions = notify.map((Endpoint) => ({ Protocol: 'email', Endpoint, TopicArn: { Ref: topic.id } }));
    expect(resourcesOf(stack, 'AWS::SNS::Subscription').map(({ Properties }) => Properties)).toEqual(subscriptions);
    expect(resourcesOf(plain, 'AWS::SNS::Subscription')).toEqual([]);
  });
});

function inHealth(construct: string, type: string) {
  return resourceOf(stack, `CredentialHealth${construct}`, type);
}
