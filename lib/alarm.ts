import { Duration } from 'aws-cdk-lib';
import { Alarm, ComparisonOperator, type IMetric, type Metric, TreatMissingData } from 'aws-cdk-lib/aws-cloudwatch';
import type { Construct } from 'constructs';

/** When an alarm rings, and what it tells whoever is woken by it. */
export interface AlarmDefinition extends Rule {
  /** One sentence: what has happened. */
  readonly means: string;
  /** What to do about it. */
  readonly act: string;
}

interface Rule {
  /** It has the period. */
  readonly metric: IMetric;
  readonly threshold: number;
  readonly comparison: ComparisonOperator;
  readonly periods: number;
  readonly breaching: number;
  readonly missing: TreatMissingData;
}

/** The alarm that is called so in the settings; its name in CloudWatch has the same words. */
export function createAlarm(scope: Construct, name: string, environment: string, definition: AlarmDefinition): Alarm {
  const { metric, threshold, comparison, periods, breaching, missing, means, act } = definition;
  const words = name.replaceAll(/(?=[A-Z])/g, '-').toLowerCase();
  return new Alarm(scope, `${name.charAt(0).toUpperCase()}${name.slice(1)}`, {
    alarmName: `token-broker-${words}-${environment}`,
    alarmDescription: `${means} ${act}`,
    metric,
    threshold,
    comparisonOperator: comparison,
    evaluationPeriods: periods,
    datapointsToAlarm: breaching,
    treatMissingData: missing,
  });
}

/** Rings when there is too much of something that is counted or measured whenever it happens. */
export function tooMuch({ threshold, minutes, periods, breaching }: Tuning, metric: Metric): Rule {
  return {
    metric: metric.with({ period: Duration.minutes(minutes) }),
    threshold,
    comparison: ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
    periods,
    breaching,
    // Nothing happened.
    missing: TreatMissingData.NOT_BREACHING,
  };
}

/** As the settings say it. */
interface Tuning {
  readonly threshold: number;
  readonly minutes: number;
  readonly periods: number;
  readonly breaching: number;
}
