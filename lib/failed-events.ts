import { Duration, Stack } from 'aws-cdk-lib';
import { Alarm, ComparisonOperator, TreatMissingData } from 'aws-cdk-lib/aws-cloudwatch';
import { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import type { DestinationConfig, IDestination, IFunction } from 'aws-cdk-lib/aws-lambda';
import { type IQueue, Queue, QueueEncryption } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import type { OperatorTopic } from './operator-topic.ts';

interface FailedEventsProps {
  readonly environment: string;
  readonly key: IKey;
  readonly operators: OperatorTopic;
}

/**
 * Where Lambda puts the events that a function failed at for good, for an operator to look at. A dead-letter queue of the
 * schedule or of the rule would stay empty: to them an event is delivered once the function has been called.
 */
export class FailedEvents extends Construct implements IDestination {
  readonly queue: IQueue;
  readonly #key: IKey;

  constructor(scope: Construct, id: string, { environment, key, operators }: FailedEventsProps) {
    super(scope, id);
    this.#key = key;
    this.queue = new Queue(this, 'Queue', {
      encryption: QueueEncryption.KMS,
      encryptionMasterKey: key,
      enforceSSL: true,
      retentionPeriod: Duration.days(14),
    });
    const alarm = new Alarm(this, 'Alarm', {
      alarmName: `token-broker-failed-events-${environment}`,
      alarmDescription:
        `The health or the rotation function of environment ${environment} failed. The messages of the queue say at what ` +
        'and why. The next run of health checks what was left; delete the messages when you have read them.',
      metric: this.queue.metricApproximateNumberOfMessagesVisible({
        period: Duration.minutes(5),
        statistic: 'Maximum',
      }),
      threshold: 0,
      comparisonOperator: ComparisonOperator.GREATER_THAN_THRESHOLD,
      evaluationPeriods: 1,
      treatMissingData: TreatMissingData.NOT_BREACHING,
    });
    operators.tellOf(alarm);
  }

  /** Makes this a function's `onFailure`; Lambda writes to the queue with the rights of the function's own role. */
  bind(_scope: Construct, { grantPrincipal }: IFunction): DestinationConfig {
    grantPrincipal.addToPrincipalPolicy(
      new PolicyStatement({ actions: ['sqs:SendMessage'], resources: [this.queue.queueArn] }),
    );
    grantPrincipal.addToPrincipalPolicy(
      new PolicyStatement({
        actions: ['kms:Decrypt', 'kms:GenerateDataKey'],
        resources: [this.#key.keyArn],
        conditions: { StringEquals: { 'kms:ViaService': `sqs.${Stack.of(this).region}.amazonaws.com` } },
      }),
    );
    return { destination: this.queue.queueArn };
  }
}
