import { Duration } from 'aws-cdk-lib';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import type { DestinationConfig, IDestination, IFunction } from 'aws-cdk-lib/aws-lambda';
import { type IQueue, Queue, QueueEncryption } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import { allow, allowKey } from '../data/allow.ts';

/**
 * Where Lambda puts the events that a function failed to handle for good, for an operator to read. A dead-letter queue of the
 * schedule or of the rule would stay empty: to them an event is delivered once the function has been called.
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

  /** Makes this a function's `onFailure`; Lambda writes to the queue with the rights of the function's own role. */
  bind(_scope: Construct, { grantPrincipal: role }: IFunction): DestinationConfig {
    allow(role, ['sqs:SendMessage'], this.queue.queueArn);
    allowKey(role, this.#key, ['kms:Decrypt', 'kms:GenerateDataKey'], 'sqs', { 'aws:sqs:arn': this.queue.queueArn });
    return { destination: this.queue.queueArn };
  }
}
