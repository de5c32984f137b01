import { expect, it } from 'vitest';
import { resourceOf, resourcesOf, synthesise } from '../support/stack/synthesise.ts';
import { exampleForm } from '../unit/settings/example-form.ts';

const notify = ['ops@example.com', 'on-call@example.com'];
const { services } = exampleForm();
const single = { ...services['customer-insights'], singleActiveToken: true };
const stack = synthesise('test', {
  ...exampleForm(),
  health: { every: 'rate(30 minutes)', notify },
  services: { ...services, 'customer-insights': single },
});
const plain = synthesise('test', exampleForm());
const inHealth = (construct: string, type: string) => resourceOf(stack, `CredentialHealth${construct}`, type);
const healthFunction = inHealth('Function', 'AWS::Lambda::Function');
const functionArn = { 'Fn::GetAtt': [healthFunction.id, 'Arn'] };
const topic = resourceOf(stack, 'OperatorTopic', 'AWS::SNS::Topic');

it('the health function has time for the longest run, and knows how often it runs, whom to tell and who is refused', () => {
  expect(healthFunction.Properties.Timeout).toBe(720);
  expect(healthFunction.Properties.Environment.Variables).toMatchObject({
    TOKEN_BROKER_HEALTH_INTERVAL_SECONDS: '1800',
    TOKEN_BROKER_SERVICES: 'customer-insights merchant-payment-cleansing',
    TOKEN_BROKER_SINGLE_TOKEN_SERVICES: 'customer-insights',
    TOKEN_BROKER_TOPIC: { Ref: topic.id },
    TOKEN_BROKER_PROBE_ROLE: { 'Fn::GetAtt': [inHealth('Probe', 'AWS::IAM::Role').id, 'Arn'] },
  });
  const { Environment } = resourceOf(plain, 'CredentialHealthFunction', 'AWS::Lambda::Function').Properties;
  expect(Environment.Variables.TOKEN_BROKER_SINGLE_TOKEN_SERVICES).toBe('-');
});

it('the health function is called twice more when it fails within ten minutes, and then its event is kept for two weeks', () => {
  const queue = resourceOf(stack, 'FailedEvents', 'AWS::SQS::Queue');
  expect(queue.Properties.MessageRetentionPeriod).toBe(1_209_600);
  expect(inHealth('Function', 'AWS::Lambda::EventInvokeConfig').Properties).toMatchObject({
    FunctionName: { Ref: healthFunction.id },
    MaximumRetryAttempts: 2,
    MaximumEventAgeInSeconds: 600,
    DestinationConfig: { OnFailure: { Destination: { 'Fn::GetAtt': [queue.id, 'Arn'] } } },
  });
});

it('a schedule calls it as often as the settings say, again once when Lambda is busy, and not before it is allowed to', () => {
  const { Properties, DependsOn } = inHealth('Schedule', 'AWS::Scheduler::Schedule');
  const RoleArn = { 'Fn::GetAtt': [inHealth('SchedulerRole', 'AWS::IAM::Role').id, 'Arn'] };
  expect(Properties).toMatchObject({
    ScheduleExpression: 'rate(30 minutes)',
    State: 'ENABLED',
    FlexibleTimeWindow: { Mode: 'OFF' },
    Target: { Arn: functionArn, RoleArn, RetryPolicy: { MaximumRetryAttempts: 1 } },
  });
  expect(DependsOn).toContain(inHealth('SchedulerRole', 'AWS::IAM::Policy').id);
});

it('a rule calls it for a new current version of this environment’s clients only, for an hour where it cannot', () => {
  const RetryPolicy = { MaximumRetryAttempts: 2, MaximumEventAgeInSeconds: 3_600 };
  expect(inHealth('Rule', 'AWS::Events::Rule').Properties).toMatchObject({
    State: 'ENABLED',
    EventPattern: {
      account: ['111111111111'],
      source: ['aws.secretsmanager'],
      'detail-type': ['Secret Label Updated'],
      detail: { name: [{ prefix: 'token-broker/test/' }], labelUpdated: ['AWSCURRENT'] },
    },
    Targets: [{ Arn: functionArn, RetryPolicy }],
  });
});

it('the topic of the operators is called by its environment, and sends e-mail to the addresses that the settings name', () => {
  expect(topic.Properties).toMatchObject({ TopicName: 'token-broker-test', DisplayName: 'Token broker test' });
  const subscriptions = notify.map((Endpoint) => ({ Protocol: 'email', Endpoint, TopicArn: { Ref: topic.id } }));
  expect(resourcesOf(stack, 'AWS::SNS::Subscription').map(({ Properties }) => Properties)).toEqual(subscriptions);
  expect(resourcesOf(plain, 'AWS::SNS::Subscription')).toEqual([]);
});
