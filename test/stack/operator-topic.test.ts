import { describe, expect, it } from 'vitest';
import { changed, exampleForm } from '../unit/settings/example-form.ts';
import { resourceOf, resourcesOf, synthesise } from './synthesise.ts';

describe('the topic of the operators', () => {
  it('is called by its environment, so that more can subscribe to it', () => {
    const topic = resourceOf(synthesise('test', exampleForm()), 'OperatorTopic', 'AWS::SNS::Topic');
    expect(topic.Properties).toMatchObject({ TopicName: 'token-broker-test', DisplayName: 'Token broker test' });
  });

  it('sends e-mail to every address that the settings name', () => {
    const notify = ['ops@example.com', 'on-call@example.com'];
    const stack = synthesise('test', changed(exampleForm(), 'health', { notify }));
    const TopicArn = { Ref: resourceOf(stack, 'OperatorTopic', 'AWS::SNS::Topic').id };
    expect(resourcesOf(stack, 'AWS::SNS::Subscription').map(({ Properties }) => Properties)).toEqual(
      notify.map((Endpoint) => ({ Protocol: 'email', Endpoint, TopicArn })),
    );
  });

  it('sends no e-mail when the settings name no address', () => {
    expect(resourcesOf(synthesise('test', exampleForm()), 'AWS::SNS::Subscription')).toEqual([]);
  });
});

it('keeps failed events for two weeks', () => {
  const queue = resourceOf(synthesise('test', exampleForm()), 'FailedEvents', 'AWS::SQS::Queue');
  expect(queue.Properties.MessageRetentionPeriod).toBe(1_209_600);
});
