import { Duration } from 'aws-cdk-lib';
import { Alarm, ComparisonOperator, Metric, TreatMissingData } from 'aws-cdk-lib/aws-cloudwatch';
import { Construct } from 'constructs';
import type { OperatorTopic } from './operator-topic.ts';

interface HealthAlarmsProps {
  readonly environment: string;
  /** From one run of health to the next. */
  readonly intervalSeconds: number;
  readonly operators: OperatorTopic;
}

/** What health cannot be trusted to tell by itself: that it does not run, and that the broker's door stands open. */
export class HealthAlarms extends Construct {
  constructor(scope: Construct, id: string, { environment, intervalSeconds, operators }: HealthAlarmsProps) {
    super(scope, id);
    const period = Duration.seconds(intervalSeconds);
    const sum = (metricName: string) =>
      new Metric({ namespace: 'TokenBroker', metricName, dimensionsMap: { environment }, statistic: 'Sum', period });

    const silence = new Alarm(this, 'Silence', {
      alarmName: `token-broker-health-silent-${environment}`,
      alarmDescription:
        `No run of health came to its end in environment ${environment}, so nobody knows whether the credentials work. ` +
        `Look at the schedule and the log of token-broker-health-${environment}.`,
      metric: sum('Heartbeat'),
      threshold: 1,
      comparisonOperator: ComparisonOperator.LESS_THAN_THRESHOLD,
      // Runs take different times, so that one period may well see none of them end.
      evaluationPeriods: 2,
      treatMissingData: TreatMissingData.BREACHING,
    });
    const openDoor = new Alarm(this, 'OpenDoor', {
      alarmName: `token-broker-probe-not-denied-${environment}`,
      alarmDescription:
        `A role without an access rule was not refused by the broker of environment ${environment}, or could not try. ` +
        'The message of health says which; until then, take it for a breach.',
      metric: sum('ProbeNotDenied'),
      threshold: 0,
      comparisonOperator: ComparisonOperator.GREATER_THAN_THRESHOLD,
      evaluationPeriods: 1,
      // For silence there is the other alarm.
      treatMissingData: TreatMissingData.IGNORE,
    });
    for (const alarm of [silence, openDoor]) operators.tellOf(alarm);
  }
}
