import type { Alarm } from 'aws-cdk-lib/aws-cloudwatch';
import type { IQueue } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import type { Environment } from '../settings/environment.ts';
import { rateSeconds } from '../settings/health.ts';
import { type AlarmDefinition, createAlarm, tooMuch } from './alarm.ts';
import { credentialAlarms } from './credential-alarms.ts';
import { type CalledFunction, functionAlarms } from './function-alarms.ts';
import { healthAlarms } from './health-alarms.ts';
import { brokerMetrics } from './metrics.ts';
import type { OperatorTopic } from './operator-topic.ts';

interface AlarmsProps {
  readonly environment: Environment;
  /** What callers call: the alias that has the URL. */
  readonly called: CalledFunction;
  /** Where the events are that a function failed at for good. */
  readonly failedEvents: IQueue;
  readonly operators: OperatorTopic;
}

/** Everything that the operators are told about by an alarm, and told again when it is over. */
export class Alarms extends Construct {
  readonly alarms: readonly Alarm[];

  constructor(scope: Construct, id: string, props: AlarmsProps) {
    super(scope, id);
    const { environment, called, failedEvents, operators } = props;
    const { name, alarms, health } = environment;
    const metric = brokerMetrics(name);
    const definitions: Readonly<Record<string, AlarmDefinition | false>> = {
      ...functionAlarms(environment, { called, metric }),
      ...credentialAlarms(alarms, metric),
      ...healthAlarms(alarms, metric, rateSeconds(health.every)),
      failedEvents: alarms.failedEvents && failedEventsAlarm(failedEvents),
    };
    this.alarms = Object.entries(definitions).flatMap(([alarm, definition]) =>
      definition === false ? [] : [createAlarm(this, alarm, name, definition)],
    );
    for (const alarm of this.alarms) operators.tellOf(alarm);
  }
}

function failedEventsAlarm(queue: IQueue): AlarmDefinition {
  const messages = queue.metricApproximateNumberOfMessagesVisible({ statistic: 'Maximum' });
  return {
    ...tooMuch({ threshold: 1, minutes: 5, periods: 1, breaching: 1 }, messages),
    means: 'The health function failed for good, at a run or at the event of a new secret version.',
    act: 'The messages of the queue say at what and why. The next run of health checks what was left; delete them when read.',
  };
}
