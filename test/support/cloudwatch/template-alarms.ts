import { runInNewContext } from 'node:vm';
import { deployed } from '../../stack/deployed-stack.ts';
import type { Deployed, TemplateText } from '../cloudformation.ts';
import { metricKey } from './metric-points.ts';

/** An alarm as CloudWatch gets it: nothing in it refers to anything any more. */
export interface Alarm {
  readonly AlarmName: string;
  readonly AlarmDescription: string;
  readonly AlarmActions?: readonly string[];
  readonly OKActions?: readonly string[];
  readonly EvaluationPeriods: number;
  readonly DatapointsToAlarm: number;
  readonly Threshold: number;
  readonly ComparisonOperator: string;
  readonly TreatMissingData: string;
  /** Every metric that the alarm reads, as `metricKey` names it. */
  readonly metrics: readonly string[];
  /** The one period that all metrics of the alarm have. */
  readonly periodSeconds: number;
  /** What is computed of them, if anything. */
  readonly expression: string | undefined;
}

/** The alarms of a template. */
export function alarmsOf(synthesised: { readonly template: TemplateText }): readonly Alarm[] {
  const alarms = deployed(synthesised).filter(({ type }) => type === 'AWS::CloudWatch::Alarm');
  return alarms.map(({ properties: { Metrics, ...alarm } }) => {
    const stats = (Metrics ?? [{ MetricStat: { Metric: alarm, Period: alarm.Period } }]).flatMap(
      ({ MetricStat = [] }: Deployed['properties']) => MetricStat,
    );
    const [periodSeconds, ...others] = new Set<number>(stats.map(({ Period }: Deployed['properties']) => Period));
    if (periodSeconds === undefined || others.length > 0) throw new TypeError('an alarm has one period');
    const metrics = stats.map(({ Metric }: Deployed['properties']) => keyOf(Metric));
    const expression = Metrics?.find(({ Expression }: Deployed['properties']) => Expression)?.Expression;
    return { ...alarm, metrics, periodSeconds, expression };
  });
}

function keyOf({ Namespace, MetricName, Dimensions = [] }: Deployed['properties']): string {
  const entries = Dimensions.map(({ Name, Value }: Deployed['properties']) => [Name, Value]);
  return metricKey({ namespace: Namespace, name: MetricName, dimensions: Object.fromEntries(entries) });
}

/**
 * The value of a metric math expression in each period, by the ids of the metrics. What the alarms use of the language is
 * JavaScript with three functions; anything else throws. Without a value where one is needed there is no result.
 *
 * @see https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/using-metric-math.html
 */
export function compute(
  expression: string,
  periods: readonly Readonly<Record<string, number | undefined>>[],
): readonly (number | undefined)[] {
  let sum = 0;
  const functions = {
    IF: (condition: boolean, then: number, otherwise: number) => (condition ? then : otherwise),
    FILL: (value: number, filler: number) => (Number.isNaN(value) ? filler : value),
    RUNNING_SUM: (value: number) => {
      sum += value;
      return sum;
    },
  };
  return periods.map((values) => {
    const known = Object.fromEntries(Object.entries(values).map(([id, value]) => [id, value ?? Number.NaN]));
    const result: unknown = runInNewContext(expression, { ...functions, ...known });
    return Number.isFinite(result) ? Number(result) : undefined;
  });
}
