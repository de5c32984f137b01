import type { ILogGroup } from 'aws-cdk-lib/aws-logs';
import type { IQueue } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import type { Environment } from '../settings/environment.ts';
import { Alarms } from './alarms.ts';
import { OperatorDashboard } from './dashboard.ts';
import type { CalledFunction } from './function-alarms.ts';
import type { OperatorTopic } from './operator-topic.ts';

interface MonitoringProps {
  readonly environment: Environment;
  /** What callers call: the alias that has the URL. */
  readonly called: CalledFunction;
  /** Of the token function. */
  readonly log: ILogGroup;
  /** Where the events are that a function failed at for good. */
  readonly failedEvents: IQueue;
  readonly operators: OperatorTopic;
}

/** Tells the operators what they must act on, and shows them what there is to see. */
export class Monitoring extends Construct {
  readonly dashboardUrl: string;

  constructor(scope: Construct, id: string, props: MonitoringProps) {
    super(scope, id);
    const { alarms } = new Alarms(this, 'Alarms', props);
    const { url } = new OperatorDashboard(this, 'Dashboard', { ...props, alarms });
    this.dashboardUrl = url;
  }
}
