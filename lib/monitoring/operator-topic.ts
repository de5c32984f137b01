import { Stack } from 'aws-cdk-lib';
import type { AlarmBase } from 'aws-cdk-lib/aws-cloudwatch';
import { SnsAction } from 'aws-cdk-lib/aws-cloudwatch-actions';
import { type IRole, PolicyStatement, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import { type ITopic, Topic } from 'aws-cdk-lib/aws-sns';
import { EmailSubscription } from 'aws-cdk-lib/aws-sns-subscriptions';
import { Construct } from 'constructs';
import { allow, allowKey } from '../data/allow.ts';
import { topicName } from '../settings/names.ts';

interface OperatorTopicProps {
  readonly environment: string;
  readonly key: IKey;
  /** E-mail addresses. AWS asks each address to confirm its subscription. */
  readonly notify: readonly string[];
}

/** The topic through which the functions and the alarms of this stack notify the operators. */
export class OperatorTopic extends Construct {
  readonly topic: ITopic;
  readonly #key: IKey;

  constructor(scope: Construct, id: string, { environment, key, notify }: OperatorTopicProps) {
    super(scope, id);
    this.#key = key;
    this.topic = new Topic(this, 'Topic', {
      // A fixed name lets chats and pagers subscribe too.
      topicName: topicName(environment),
      displayName: `Token broker ${environment}`,
      masterKey: key,
      enforceSSL: true,
    });
    for (const address of notify) this.topic.addSubscription(new EmailSubscription(address));
    // Alarms publish as CloudWatch. The key's policy allows CloudWatch to use the key for this topic.
    this.topic.addToResourcePolicy(
      new PolicyStatement({
        principals: [new ServicePrincipal('cloudwatch.amazonaws.com')],
        actions: ['sns:Publish'],
        resources: [this.topic.topicArn],
        conditions: { StringEquals: { 'aws:SourceAccount': Stack.of(this).account } },
      }),
    );
  }

  /** Lets a role of this stack notify the operators, and read whether the topic has a subscriber. */
  allowPublishing(role: IRole): void {
    const { topicArn } = this.topic;
    allow(role, ['sns:GetTopicAttributes', 'sns:Publish'], topicArn);
    // @see https://docs.aws.amazon.com/sns/latest/dg/sns-key-management.html
    allowKey(role, this.#key, ['kms:Decrypt', 'kms:GenerateDataKey'], 'sns', { 'aws:sns:topicArn': topicArn });
  }

  /** Notifies the operators when the alarm begins and when it is over. */
  notifyOf(alarm: AlarmBase): void {
    const action = new SnsAction(this.topic);
    alarm.addAlarmAction(action);
    alarm.addOkAction(action);
  }
}
