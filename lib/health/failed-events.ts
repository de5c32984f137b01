import { Duration } from 'aws-cdk-lib';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import type { DestinationConfig, IDestination, IFunction } from 'aws-cdk-lib/aws-lambda';
import { type IQueue, Queue, QueueEncryption } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import { allow, allowKey } from '../data/allow.ts';

/**
 * The queue of events whose handling failed after all retries, for an operator to read. A dead-letter queue of the
 * schedule or the rule would stay empty, because for them an asynchronous call is already a delivery.
 */
export class FailedEvents extends Construct implements IDestination {
  readonly queue: IQueue;
  readonly #key: IKey;

  constructor(scope: Construct, id: string, { key }: { readonly key: IKey }) {
    super(scope, id);
    this.#key = key;
    this.queue = new Queue(this, 'Queue', {
      encryption: QueueEncryption.KMS,
      encryptionMasterKey: key,
      enforceSSL: true,
      retentionPeriod: Duration.days(14),
    });
  }

  /** Makes this a function's `onFailure`. Lambda writes to the queue with the rights of the function's role. */
  bind(_scope: Construct, { grantPrincipal: role }: IFunction): DestinationConfig {
    allow(role, ['sqs:SendMessage'], this.queue.queueArn);
    allowKey(role, this.#key, ['kms:Decrypt', 'kms:GenerateDataKey'], 'sqs', { 'aws:sqs:arn': this.queue.queueArn });
    return { destination: this.queue.queueArn };
  }
}
