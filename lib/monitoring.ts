import type { IQueue } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import { Alarms } from './alarms.ts';
import type { CalledFunction } from './function-alarms.ts';
import type { OperatorTopic } from './operator-topic.ts';
import type { Environment } from './settings.ts';

interface MonitoringProps {
  readonly environment: Environment;
  /** What callers call: the alias that has the URL. */
  readonly called: CalledFunction;
  /** Where the events are that a function failed at for good. */
  readonly failedEvents: IQueue;
  readonly operators: OperatorTopic;
}

/** Tells the operators what they must act on. */
export class Monitoring extends Construct {
  constructor(scope: Construct, id: string, props: MonitoringProps) {
    super(scope, id);
    new Alarms(this, 'Alarms', props);
  }
}
