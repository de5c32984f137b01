import { describe, expect, it } from 'vitest';
import { MINUTE_MS, metricsOf, watch } from './alarm.ts';
import type { Alarm } from './alarm-definition.ts';
import { compute } from './metric-math.ts';
import { type Point, pointsOf } from './metric-points.ts';
import { statisticOf } from './statistic.ts';

const DIMENSIONS = [{ Name: 'environment', Value: 'test' }];
const ALARM: Alarm = {
  AlarmName: 'example',
  Namespace: 'Example',
  MetricName: 'Count',
  Dimensions: DIMENSIONS,
  Statistic: 'Sum',
  Period: 60,
  EvaluationPeriods: 3,
  Threshold: 3,
  ComparisonOperator: 'GreaterThanThreshold',
};

describe('an alarm that is watched', () => {
  it('rings after three bad minutes in a row and ends with the first good one, as in the documentation', () => {
    const values = [1, 2, 4, 5, 6, 2, 1, 2, 4, 2];
    expect(watched(ALARM, values)).toEqual('O O O O A O O O O O'.split(' '));
  });

  it.each([
    ['of another name', { name: 'Counts' }],
    ['in another namespace', { namespace: 'Other' }],
    ['with another value of a dimension', { dimensions: { environment: 'prod' } }],
    ['with a dimension more', { dimensions: { environment: 'test', service: 'a' } }],
    ['with a dimension less', { dimensions: {} }],
  ])('does not see a metric %s', (_, other: Partial<Point>) => {
    const points = [1, 2, 3, 4].map((minute) => ({ ...pointAt(minute, 9), ...other }));
    expect(watch(ALARM, points, MINUTE_MS, 5 * MINUTE_MS)).not.toContain('ALARM');
  });

  it('adds up what came within a period, whose window ends with every minute', () => {
    const alarm: Alarm = { ...ALARM, Period: 120, EvaluationPeriods: 1 };
    expect(watched(alarm, [1, 2, 2, 1, 1])).toEqual('O O A O O'.split(' '));
    expect(watched({ ...alarm, Threshold: 4 }, [1, 2, 2, 1, 1])).not.toContain('A');
  });

  it('looks at the last periods that it has seen again and again when nothing more comes, unless it is filled in', () => {
    const values = [1, 2, 2, 0, 0, 0, 0, 0];
    const { Namespace = '', MetricName = '', Dimensions, ...rule } = ALARM;
    const Metric = { Namespace, MetricName, Dimensions };
    const alarm: Alarm = {
      ...rule,
      EvaluationPeriods: 1,
      TreatMissingData: 'notBreaching',
      Metrics: [{ Id: 'm', ReturnData: true, MetricStat: { Metric, Stat: 'Sum', Period: 120 } }],
    };
    expect(watched(alarm, values)).toEqual('O O A O A O A O'.split(' '));

    const [query] = alarm.Metrics ?? [];
    const filled = [{ Id: 'filled', Expression: 'FILL(m, 0)' }, ...(query ? [{ ...query, ReturnData: false }] : [])];
    expect(watched({ ...alarm, Metrics: filled }, values)).toEqual('O O A O O O O O'.split(' '));
  });

  it('reads expressions of several metrics', () => {
    const query = (Id: string, MetricName: string) => ({
      Id,
      ReturnData: false,
      MetricStat: { Metric: { Namespace: 'Example', MetricName, Dimensions: DIMENSIONS }, Stat: 'Sum', Period: 60 },
    });
    const alarm: Alarm = {
      AlarmName: 'share',
      Metrics: [
        { Id: 'share', Expression: 'IF(all >= 10, 100 * bad / all, 0)' },
        query('bad', 'Bad'),
        query('all', 'All'),
      ],
      EvaluationPeriods: 1,
      Threshold: 50,
      ComparisonOperator: 'GreaterThanOrEqualToThreshold',
    };
    const minutes = [
      { bad: 9, all: 9 },
      { bad: 4, all: 10 },
      { bad: 5, all: 10 },
      { bad: 0, all: 10 },
    ];
    const points = minutes.flatMap(({ bad, all }, minute) => [
      { ...pointAt(minute, bad), name: 'Bad' },
      { ...pointAt(minute, all), name: 'All' },
    ]);
    expect(watch(alarm, points, MINUTE_MS, 4 * MINUTE_MS)).toEqual(['OK', 'OK', 'ALARM', 'OK']);
    expect(metricsOf(alarm)).toHaveLength(2);
  });
});

describe('metric math', () => {
  it.each([
    ['1 + 2 * 3', 7],
    ['(1 + 2) * 3', 9],
    ['8 - 2 - 1', 5],
    ['8 / 2 / 2', 2],
    ['a / b', 2.5],
    ['a >= 5', 1],
    ['a < b', 0],
    ['IF(a > b, 10, 20)', 10],
    ['IF(a == b, 10, 20)', 20],
    ['a / 0', undefined],
    ['a + none', undefined],
    ['IF(none, 1, 2)', undefined],
    ['FILL(none, 0) + 1', 1],
    ['FILL(a, 0)', 5],
    ['RUNNING_SUM(FILL(none, 0)) + 1', 1],
    ['IF(RUNNING_SUM(FILL(a, 0)) > 4, 1, 2)', 1],
  ])('%s is %j', (expression, result) => {
    expect(compute(expression, { a: 5, b: 2, none: undefined })).toBe(result);
  });

  it.each(["SEARCH('{Example} Count', 'Sum', 60)", 'c', 'a b', 'a +', '(a', 'FILL(a, REPEAT)', 'IF(a, 1)', 'a ? b'])(
    'throws at what it does not know: %s',
    (expression) => {
      expect(() => compute(expression, { a: 5, b: 2 })).toThrow(SyntaxError);
    },
  );
});

describe('a statistic', () => {
  const values = [5, 1, 4, 2, 3];

  it.each([
    ['Sum', 15],
    ['Average', 3],
    ['SampleCount', 5],
    ['Maximum', 5],
    ['Minimum', 1],
    ['p50', 3],
    ['p99', 5],
    ['p20', 1],
  ])('%s', (statistic, value) => {
    expect(statisticOf(statistic, values)).toBe(value);
    expect(statisticOf(statistic, [])).toBeUndefined();
  });

  it('must be one', () => {
    expect(() => statisticOf('p100', values)).toThrow(TypeError);
  });
});

describe('the points of a line', () => {
  const line = (changes: object = {}) =>
    JSON.stringify({
      _aws: {
        Timestamp: 7,
        CloudWatchMetrics: [
          { Namespace: 'Example', Dimensions: [['a'], ['a', 'b']], Metrics: [{ Name: 'Count', Unit: 'Count' }] },
        ],
      },
      a: 'x',
      b: 'y',
      Count: 3,
      ...changes,
    });

  it('are one for each metric and set of dimensions', () => {
    const point = { namespace: 'Example', name: 'Count', value: 3, at: 7 };
    expect(pointsOf([line()])).toEqual([
      { ...point, dimensions: { a: 'x' } },
      { ...point, dimensions: { a: 'x', b: 'y' } },
    ]);
  });

  it.each([{ b: undefined }, { b: 1 }, { a: '' }, { Count: '3' }, { Count: undefined }])(
    'are not made up: CloudWatch refuses a line with %j',
    (changes) => {
      expect(() => pointsOf([line(changes)])).toThrow();
    },
  );
});

function pointAt(minute: number, value: number): Point {
  return { namespace: 'Example', name: 'Count', dimensions: { environment: 'test' }, value, at: minute * MINUTE_MS };
}

/** The first letters of the states, minute by minute; a 0 is a minute without any value. */
function watched(alarm: Alarm, values: readonly number[]): readonly (string | undefined)[] {
  const points = values.flatMap((value, minute) => (value === 0 ? [] : [pointAt(minute, value)]));
  return watch(alarm, points, MINUTE_MS, values.length * MINUTE_MS).map((state) => state.charAt(0));
}
