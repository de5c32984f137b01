import { Stack } from 'aws-cdk-lib';
import type { Alarm } from 'aws-cdk-lib/aws-cloudwatch';
import { SnsAction } from 'aws-cdk-lib/aws-cloudwatch-actions';
import { type IRole, PolicyStatement, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import { type ITopic, Topic } from 'aws-cdk-lib/aws-sns';
import { EmailSubscription } from 'aws-cdk-lib/aws-sns-subscriptions';
import { Construct } from 'constructs';

interface OperatorTopicProps {
  readonly environment: string;
  readonly key: IKey;
  /** E-mail addresses; each gets a message of AWS to confirm its subscription. */
  readonly notify: readonly string[];
}

/** How the operators learn that they must act: from the functions of this stack and from its alarms. */
export class OperatorTopic extends Construct {
  readonly topic: ITopic;
  readonly #key: IKey;

  constructor(scope: Construct, id: string, { environment, key, notify }: OperatorTopicProps) {
    super(scope, id);
    this.#key = key;
    this.topic = new Topic(this, 'Topic', {
      // A fixed name, so that chats and pagers can subscribe too.
      topicName: `token-broker-${environment}`,
      displayName: `Token broker ${environment}`,
      masterKey: key,
      enforceSSL: true,
    });
    for (const address of notify) this.topic.addSubscription(new EmailSubscription(address));
    this.#allowAlarms();
  }

  /** Lets a role of this stack tell the operators something. */
  allowPublishing(role: IRole): void {
    role.addToPrincipalPolicy(new PolicyStatement({ actions: ['sns:Publish'], resources: [this.topic.topicArn] }));
    role.addToPrincipalPolicy(
      new PolicyStatement({
        actions: [...KEY_ACTIONS],
        resources: [this.#key.keyArn],
        conditions: { StringEquals: { 'kms:ViaService': `sns.${Stack.of(this).region}.amazonaws.com` } },
      }),
    );
  }

  /** Tells the operators when the alarm begins and when it is over. */
  tellOf(alarm: Alarm): void {
    const action = new SnsAction(this.topic);
    alarm.addAlarmAction(action);
    alarm.addOkAction(action);
  }

  /** An alarm publishes as CloudWatch, which no policy of this account's roles covers: neither on the topic nor on its key. */
  #allowAlarms(): void {
    const cloudWatch = {
      principals: [new ServicePrincipal('cloudwatch.amazonaws.com')],
      conditions: { StringEquals: { 'aws:SourceAccount': Stack.of(this).account } },
    };
    this.topic.addToResourcePolicy(
      new PolicyStatement({ ...cloudWatch, actions: ['sns:Publish'], resources: [this.topic.topicArn] }),
    );
    this.#key.addToResourcePolicy(new PolicyStatement({ ...cloudWatch, actions: [...KEY_ACTIONS], resources: ['*'] }));
  }
}

/** @see https://docs.aws.amazon.com/sns/latest/dg/sns-key-management.html */
const KEY_ACTIONS = ['kms:Decrypt', 'kms:GenerateDataKey'];
