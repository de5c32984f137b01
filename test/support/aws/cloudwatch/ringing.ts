import { runInNewContext } from 'node:vm';
import { type Alarm, compute } from './template-alarms.ts';

/** The sums of an alarm's metrics in one minute, by the ids that its expression has for them. */
export type Minute = Readonly<Record<string, number>>;

/**
 * Whether an alarm rings after each minute of a series. CloudWatch evaluates every minute, over windows that end then;
 * a minute before the series has no value.
 *
 * @see https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/alarm-evaluation.html
 */
export function ringing(alarm: Alarm, series: readonly Minute[]): readonly boolean[] {
  const { expression, periodSeconds, EvaluationPeriods, DatapointsToAlarm = EvaluationPeriods, Threshold } = alarm;
  if (expression === undefined) throw new TypeError('an alarm without an expression');
  const minutes = periodSeconds / 60;
  const ids = [...new Set(expression.match(/\b[a-z]+\b/g))];
  // Running totals, so that a month of minutes takes no longer than it must.
  const totals = ids.map((id) => {
    const sums = [0];
    for (const minute of series) sums.push((sums.at(-1) ?? 0) + (minute[id] ?? 0));
    return sums;
  });
  const sumAt = (index: number, end: number) =>
    (totals[index]?.[Math.max(end, 0)] ?? 0) - (totals[index]?.[Math.max(end - minutes, 0)] ?? 0);
  const values = compute(
    expression,
    series.map((_, end) => Object.fromEntries(ids.map((id, index) => [id, sumAt(index, end + 1) || undefined]))),
  );
  const isBad = (value: number | undefined = 0) =>
    alarm.ComparisonOperator === 'LessThanThreshold' ? value < Threshold : value >= Threshold;
  return series.map((_, end) => {
    const ends = Array.from({ length: EvaluationPeriods }, (_none, back) => end - back * minutes);
    return ends.filter((at) => isBad(at < 0 ? 0 : values[at])).length >= DatapointsToAlarm;
  });
}

/** The rule of a composite alarm as a function of the names of the alarms that ring. */
export function parseRule(rule: string): (rings: (alarmName: string) => boolean) => boolean {
  const script = rule
    .replaceAll(/ALARM\("?[^")]*:alarm:([\w-]+)"?\)/g, 'rings("$1")')
    .replaceAll(' AND ', ' && ')
    .replaceAll(' OR ', ' || ');
  if (!/^(?:rings\("[\w-]+"\)|[ ()]|&&|\|\|)+$/.test(script)) throw new TypeError(`a rule ${rule}`);
  return runInNewContext(`(rings) => (${script})`);
}
