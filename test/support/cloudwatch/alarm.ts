import type { Alarm, MetricName, MetricQuery } from './alarm-definition.ts';
import { type AlarmState, nextState } from './alarm-state.ts';
import { compute, type Values } from './metric-math.ts';
import { metricKey, type Point } from './metric-points.ts';
import { statisticOf } from './statistic.ts';

/** What the alarm says at the end of each minute from the one time to the other, epoch milliseconds. */
export function watch(alarm: Alarm, points: readonly Point[], from: number, to: number): readonly AlarmState[] {
  const queries = queriesOf(alarm);
  const periodMs = periodSeconds(alarm) * 1_000;
  const series = seriesOf(points);
  const states: AlarmState[] = [];
  let state: AlarmState = 'INSUFFICIENT_DATA';
  // The window slides: a new one ends with every minute, however long a period is.
  for (let now = from; now <= to; now += MINUTE_MS) {
    const range = Array.from({ length: alarm.EvaluationPeriods + EXTRA_PERIODS }, (_, index) => {
      const end = now - (alarm.EvaluationPeriods + EXTRA_PERIODS - 1 - index) * periodMs;
      return valuesAt(queries, series, end - periodMs, end);
    }).map((values, index, all) => {
      const value = resultOf(queries, values, all.slice(0, index));
      return value === undefined ? undefined : breaches(alarm, value);
    });
    const rule = {
      evaluationPeriods: alarm.EvaluationPeriods,
      datapointsToAlarm: alarm.DatapointsToAlarm ?? alarm.EvaluationPeriods,
      treatMissingData: alarm.TreatMissingData ?? 'missing',
    };
    state = nextState(range, rule, state);
    states.push(state);
  }
  return states;
}

/** Every metric that the alarm reads, as `metricKey` names it. */
export function metricsOf(alarm: Alarm): readonly string[] {
  return queriesOf(alarm).flatMap(({ MetricStat }) => (MetricStat === undefined ? [] : [keyOf(MetricStat.Metric)]));
}

/** The one period that all metrics of an alarm have. */
export function periodSeconds(alarm: Alarm): number {
  const [period, ...others] = new Set(queriesOf(alarm).flatMap(({ MetricStat }) => MetricStat?.Period ?? []));
  if (period === undefined || others.length > 0) throw new TypeError('the metrics of an alarm must have one period');
  return period;
}

export const MINUTE_MS = 60_000;

/** How many more periods than it evaluates CloudWatch asks for: five for three, in its documentation. */
const EXTRA_PERIODS = 2;

/** An alarm on one metric is one on an expression that is just this metric. */
function queriesOf(alarm: Alarm): readonly MetricQuery[] {
  const { Metrics, Namespace, MetricName, Dimensions, Statistic, ExtendedStatistic, Period } = alarm;
  if (Metrics !== undefined) return Metrics;
  const Stat = Statistic ?? ExtendedStatistic;
  if (Namespace === undefined || MetricName === undefined || Stat === undefined || Period === undefined) {
    throw new TypeError(`${alarm.AlarmName} has no metric`);
  }
  return [{ Id: 'metric', MetricStat: { Metric: { Namespace, MetricName, Dimensions }, Stat, Period } }];
}

/** Values by metric and by the minute that they belong to. */
function seriesOf(points: readonly Point[]): ReadonlyMap<string, ReadonlyMap<number, number[]>> {
  const series = new Map<string, Map<number, number[]>>();
  for (const point of points) {
    const key = metricKey(point);
    const minutes = series.get(key) ?? new Map<number, number[]>();
    const minute = point.at - (point.at % MINUTE_MS);
    series.set(key, minutes.set(minute, [...(minutes.get(minute) ?? []), point.value]));
  }
  return series;
}

function valuesAt(queries: readonly MetricQuery[], series: ReturnType<typeof seriesOf>, from: number, to: number) {
  const values: Record<string, number | undefined> = {};
  for (const { Id, MetricStat } of queries) {
    if (MetricStat === undefined) continue;
    const minutes = [...(series.get(keyOf(MetricStat.Metric)) ?? [])];
    const inside = minutes.filter(([minute]) => minute >= from && minute < to).flatMap(([, found]) => found);
    values[Id] = statisticOf(MetricStat.Stat, inside);
  }
  return values;
}

function resultOf(queries: readonly MetricQuery[], values: Values, earlier: readonly Values[]): number | undefined {
  const [answer, ...others] = queries.filter(({ ReturnData }) => ReturnData !== false);
  if (answer === undefined || others.length > 0) throw new TypeError('an alarm looks at one result');
  return answer.Expression === undefined ? values[answer.Id] : compute(answer.Expression, values, earlier);
}

function keyOf({ Namespace, MetricName, Dimensions = [] }: MetricName): string {
  const dimensions = Object.fromEntries(Dimensions.map(({ Name, Value }) => [Name, Value]));
  return metricKey({ namespace: Namespace, name: MetricName, dimensions });
}

function breaches({ ComparisonOperator, Threshold }: Alarm, value: number): boolean {
  switch (ComparisonOperator) {
    case 'GreaterThanOrEqualToThreshold':
      return value >= Threshold;
    case 'GreaterThanThreshold':
      return value > Threshold;
    case 'LessThanThreshold':
      return value < Threshold;
    case 'LessThanOrEqualToThreshold':
      return value <= Threshold;
    default:
      throw new TypeError(`${ComparisonOperator} is no comparison`);
  }
}
