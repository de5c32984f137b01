import { runInNewContext } from 'node:vm';
import { metricKey } from './metric-points.ts';
import type { Alarm } from './template-alarms.ts';

/** What an alarm says. */
export type AlarmState = 'OK' | 'ALARM' | 'INSUFFICIENT_DATA';

/** What the metrics of an alarm are in one period, by the ids that the alarm gives them; `undefined` without a value. */
export type Period = Readonly<Record<string, number | undefined>>;

/** What the alarm says at the end of each period. */
export function watch(alarm: Alarm, periods: readonly Period[]): readonly AlarmState[] {
  let state: AlarmState = 'INSUFFICIENT_DATA';
  return periods.map((_, index) => {
    const range = periods.slice(Math.max(0, index + 1 - alarm.EvaluationPeriods - EXTRA_PERIODS), index + 1);
    const values = compute(resultOf(alarm), range);
    state = nextState(
      values.map((value) => (value === undefined ? undefined : breaches(alarm, value))),
      alarm,
      state,
    );
    return state;
  });
}

/** How many more periods than it evaluates CloudWatch asks for: five for three, in its documentation. */
const EXTRA_PERIODS = 2;

/** Every metric that the alarm reads, as `metricKey` names it. */
export function metricsOf({ Metrics }: Alarm): readonly string[] {
  return Metrics.flatMap(({ MetricStat }) => {
    if (MetricStat === undefined) return [];
    const { Namespace, MetricName, Dimensions } = MetricStat.Metric;
    const dimensions = Object.fromEntries(Dimensions.map(({ Name, Value }) => [Name, Value]));
    return [metricKey({ namespace: Namespace, name: MetricName, dimensions })];
  });
}

/** The one period that all metrics of an alarm have, in seconds. */
export function periodSeconds({ Metrics }: Alarm): number {
  const [period, ...others] = new Set(Metrics.flatMap(({ MetricStat }) => MetricStat?.Period ?? []));
  if (period === undefined || others.length > 0) throw new TypeError('the metrics of an alarm must have one period');
  return period;
}

/** The expression that the alarm looks at; one metric is the expression of its id. */
function resultOf({ Metrics }: Alarm): string {
  const [answer, ...others] = Metrics.filter(({ ReturnData }) => ReturnData !== false);
  if (answer === undefined || others.length > 0) throw new TypeError('an alarm looks at one result');
  return answer.Expression ?? answer.Id;
}

/**
 * The values of a metric math expression in each period of a range. What the alarms use of the language is JavaScript
 * with three functions; anything else, such as SEARCH, throws. Without a value where one is needed there is no result.
 *
 * @see https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/using-metric-math.html
 */
export function compute(expression: string, periods: readonly Period[]): readonly (number | undefined)[] {
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

function breaches({ ComparisonOperator, Threshold }: Alarm, value: number): boolean {
  return ComparisonOperator === 'LessThanThreshold' ? value < Threshold : value >= Threshold;
}

/**
 * The state that follows from the data points of the evaluation range, the newest last: whether each breaches, or
 * `undefined` where there is none. Real data points count first, however old; only what is then still lacking is filled in.
 *
 * @see https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/alarms-and-missing-data.html
 */
export function nextState(
  range: readonly (boolean | undefined)[],
  rule: Pick<Alarm, 'EvaluationPeriods' | 'DatapointsToAlarm' | 'TreatMissingData'>,
  current: AlarmState,
): AlarmState {
  const real = range.filter((point) => point !== undefined).slice(-rule.EvaluationPeriods);
  const breaching = real.filter((point) => point).length;
  if (breaching >= rule.DatapointsToAlarm) return 'ALARM';
  const isKnown = real.length === rule.EvaluationPeriods || breaching < real.length;
  return isKnown || rule.TreatMissingData === 'notBreaching' ? 'OK' : current;
}
