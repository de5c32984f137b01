import { runInNewContext } from 'node:vm';
import { deployed } from '../../stack/deployed-stack.ts';
import type { TemplateText } from '../cloudformation.ts';

/** An alarm as CloudWatch gets it: nothing in it refers to anything any more. */
export interface Alarm {
  readonly AlarmName: string;
  readonly AlarmDescription: string;
  readonly AlarmActions?: readonly string[];
  readonly EvaluationPeriods: number;
  readonly DatapointsToAlarm?: number;
  readonly ComparisonOperator: string;
  readonly Threshold: number;
  /** Every metric that the alarm reads, as `metricKey` names it. */
  readonly metrics: readonly string[];
  /** The one period that all metrics of the alarm have. */
  readonly periodSeconds: number;
  /** The formula over them, if there is one. */
  readonly expression: string | undefined;
}

/** The alarms of a template. */
export function alarmsOf(synthesised: { readonly template: TemplateText }): readonly Alarm[] {
  const alarms = deployed(synthesised).filter(({ type }) => type === 'AWS::CloudWatch::Alarm');
  return alarms.map(({ properties: { Metrics, ...alarm } }) => {
    // An alarm on one metric has its members itself.
    const queries: readonly Query[] = Metrics ?? [{ MetricStat: { Metric: alarm, Period: alarm.Period } }];
    const stats = queries.flatMap(({ MetricStat }) => MetricStat ?? []);
    const [periodSeconds, ...others] = new Set(stats.map(({ Period }) => Period));
    if (periodSeconds === undefined || others.length > 0) throw new TypeError('an alarm has one period');
    const metrics = stats.map(({ Metric: { Namespace, MetricName, Dimensions = [] } }) => {
      const dimensions = Object.fromEntries(Dimensions.map(({ Name, Value }) => [Name, Value]));
      return metricKey({ namespace: Namespace, name: MetricName, dimensions });
    });
    return { ...alarm, metrics, periodSeconds, expression: queries.find((query) => query.Expression)?.Expression };
  });
}

interface Query {
  readonly Expression?: string;
  readonly MetricStat?: {
    readonly Period: number;
    readonly Metric: {
      readonly Namespace: string;
      readonly MetricName: string;
      readonly Dimensions?: readonly { readonly Name: string; readonly Value: string }[];
    };
  };
}

/** The identity of a metric: its namespace, its name and its whole set of dimensions. */
export function metricKey({ namespace, name, dimensions }: MetricName): string {
  const sorted = Object.entries(dimensions).toSorted(([one], [other]) => (one < other ? -1 : 1));
  return JSON.stringify([namespace, name, sorted]);
}

interface MetricName {
  readonly namespace: string;
  readonly name: string;
  readonly dimensions: Readonly<Record<string, string>>;
}

/**
 * The value of a metric math expression in each period, by the ids of the metrics. The alarms' part of the language is
 * JavaScript with two functions; anything else throws. A missing value gives no result.
 *
 * @see https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/using-metric-math.html
 */
export function compute(
  expression: string,
  periods: readonly Readonly<Record<string, number | undefined>>[],
): readonly (number | undefined)[] {
  const functions = {
    IF: (condition: boolean, then: number, otherwise: number) => (condition ? then : otherwise),
    FILL: (value: number, filler: number) => (Number.isNaN(value) ? filler : value),
  };
  const ids = [...new Set(periods.flatMap(Object.keys))];
  const formula = runInNewContext(`(IF, FILL, ${ids}) => (${expression})`);
  return periods.map((values) => {
    const known = ids.map((id) => values[id] ?? Number.NaN);
    const result: unknown = formula(functions.IF, functions.FILL, ...known);
    return Number.isFinite(result) ? Number(result) : undefined;
  });
}
