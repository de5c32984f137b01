import { Duration } from 'aws-cdk-lib';
import {
  Alarm,
  ComparisonOperator,
  type IMetric,
  MathExpression,
  type Metric,
  TreatMissingData,
} from 'aws-cdk-lib/aws-cloudwatch';
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
  const period = Duration.minutes(minutes);
  return {
    metric: minutes < MAX_DELAY_MINUTES ? metric.with({ period }) : zeroWhenSilent(metric, period),
    threshold,
    comparison: ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
    periods,
    breaching,
    // Nothing happened.
    missing: TreatMissingData.NOT_BREACHING,
  };
}

/**
 * Where there are no values CloudWatch looks for older ones: an alarm would come and go after its cause is over, or be
 * late when it waits for silence.
 */
export function zeroWhenSilent(metric: Metric, period: Duration): MathExpression {
  return new MathExpression({ expression: 'FILL(found, 0)', usingMetrics: { found: metric }, period });
}

/** Values come this late at the most; a shorter period would be taken for silent, and would not be looked at again. */
const MAX_DELAY_MINUTES = 5;

/** As the settings say it. */
interface Tuning {
  readonly threshold: number;
  readonly minutes: number;
  readonly periods: number;
  readonly breaching: number;
}
