import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { type Alarm, alarmsOf, compute } from '../support/aws/cloudwatch/template-alarms.ts';
import { deployed } from '../support/stack/deployed-stack.ts';
import { synthesise } from '../support/stack/synthesise.ts';
import { exampleForm } from '../unit/settings/example-form.ts';

const form = { ...exampleForm(), slo: { answered: 99.9, withinMs: 1_000 }, health: { every: 'rate(1 hour)' } };
const stack = synthesise('test', form);
const alarms = alarmsOf(stack);
const level = alarms.filter(({ AlarmName }) => AlarmName.includes('service-level'));
const composites = deployed(stack).filter(({ type }) => type === 'AWS::CloudWatch::CompositeAlarm');
const HOUR = 60;
const DAY = 24 * HOUR;

/** The sums of an alarm's metrics in one minute, by the ids that its expression has for them. */
type Minute = Readonly<Record<string, number>>;

describe('the alarm on the service level', () => {
  it.each<[what: string, series: readonly Minute[], rings: [first: number, last: number] | undefined]>([
    ['a month of 99.95 %', repeat(30 * DAY, (at) => calls(100, at % 20 === 10 ? 1 : 0)), undefined],
    ['an outage of 10 minutes', during(DAY, DAY + 10), [DAY, DAY + 38]],
    ['an outage of 6 hours', during(DAY, DAY + 6 * HOUR), [DAY, DAY + 6 * HOUR + 28]],
    ['one miss in 500 calls, for a day', repeat(DAY, (at) => calls(100, at % 5 === 4 ? 1 : 0)), undefined],
    ['one miss in 100 calls, for a day', repeat(DAY, () => calls(100, 1)), [0, DAY - 1]],
    ['a single call that fails at night', repeat(DAY, (at) => (at === HOUR ? calls(1, 1) : {})), undefined],
    ['throttled calls', repeat(DAY, (at) => ({ ...calls(100, 0), throttles: at < HOUR ? 50 : 0 })), [0, 88]],
    ['crashes', repeat(DAY, (at) => ({ ...calls(100, 0), errors: at < HOUR ? 50 : 0 })), [0, 88]],
  ])('%s', (_, series, rings) => {
    const ringingParts = new Map(level.map((alarm) => [alarm.AlarmName, ringing(alarm, series)]));
    const holds = parseRule(composites[0]?.properties.AlarmRule);
    const minutes = series.flatMap((_none, at) =>
      holds((name) => ringingParts.get(name)?.[at] ?? expect.unreachable(name)) ? [at] : [],
    );
    expect(minutes.length === 0 ? undefined : [minutes[0], minutes.at(-1)]).toEqual(rings);
  });
});

describe('health-silent, with a run each hour', () => {
  const silent = alarms.find(({ AlarmName }) => AlarmName.includes('health-silent')) ?? expect.unreachable();

  it.each<[what: string, runs: readonly number[], rings: [first: number, last: number] | undefined]>([
    ['rings in the first hour until the first run', [7, 67, 127, 187, 247], [0, 6]],
    ['keeps still when a run is a minute late', [0, 60, 121, 180, 240], undefined],
    ['keeps still when a single run is missing', [0, 60, 180, 240], undefined],
    ['rings when two runs are missing, until the next', [0, 60, 240], [180, 239]],
  ])('%s', (_, runs, rings) => {
    const minutes = ringing(
      silent,
      repeat(5 * HOUR, (at): Minute => (runs.includes(at) ? { found: 1 } : {})),
    ).flatMap((isRinging, at) => (isRinging ? [at] : []));
    expect(minutes.length === 0 ? undefined : [minutes[0], minutes.at(-1)]).toEqual(rings);
  });
});

function calls(all: number, late: number): Minute {
  return { all, late };
}

/** Two days with a hundred calls a minute, which all fail between the two minutes. */
function during(from: number, to: number): readonly Minute[] {
  return repeat(2 * DAY, (at) => calls(100, at >= from && at < to ? 100 : 0));
}

function repeat(minutes: number, minuteAt: (at: number) => Minute): readonly Minute[] {
  return Array.from({ length: minutes }, (_, at) => minuteAt(at));
}

/**
 * Whether an alarm rings after each minute of a series. CloudWatch evaluates every minute, over windows that end then;
 * a minute before the series has no value.
 *
 * @see https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/alarm-evaluation.html
 */
function ringing(alarm: Alarm, series: readonly Minute[]): readonly boolean[] {
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
function parseRule(rule: string): (rings: (alarmName: string) => boolean) => boolean {
  const script = rule
    .replaceAll(/ALARM\("?[^")]*:alarm:([\w-]+)"?\)/g, 'rings("$1")')
    .replaceAll(' AND ', ' && ')
    .replaceAll(' OR ', ' || ');
  if (!/^(?:rings\("[\w-]+"\)|[ ()]|&&|\|\|)+$/.test(script)) throw new TypeError(`a rule ${rule}`);
  return runInNewContext(`(rings) => (${script})`);
}
