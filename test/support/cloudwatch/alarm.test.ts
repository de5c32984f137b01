import { describe, expect, it } from 'vitest';
import { type AlarmState, compute, nextState } from './alarm.ts';

/**
 * The examples of AWS's own documentation: five data points were asked for, the newest is the last one; 0 is within the
 * threshold, X is not, - is missing. What must follow: for `ignore` and for `notBreaching`.
 *
 * @see https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/alarms-and-missing-data.html
 */
it.each<[of: 2 | 3, points: string, ignore: AlarmState | 'retained', notBreaching: AlarmState]>([
  [3, '0-X-X', 'OK', 'OK'],
  [3, '0----', 'OK', 'OK'],
  [3, '-----', 'retained', 'OK'],
  [3, '0XX-X', 'ALARM', 'ALARM'],
  [3, '----X', 'retained', 'OK'],
  [3, 'X----', 'retained', 'OK'],
  [2, '0-X-X', 'ALARM', 'ALARM'],
  [2, '00X0X', 'ALARM', 'ALARM'],
  [2, '0-X--', 'OK', 'OK'],
  [2, '----0', 'OK', 'OK'],
  [2, '----X', 'retained', 'OK'],
])('an alarm with %d of 3 data points does with %s what the documentation says', (of, points, ignore, notBreaching) => {
  const range = [...points].map((point) => (point === '-' ? undefined : point === 'X'));
  const rule = { EvaluationPeriods: 3, DatapointsToAlarm: of };
  for (const current of ['OK', 'ALARM'] as const) {
    const retained = ignore === 'retained' ? current : ignore;
    expect(nextState(range, { ...rule, TreatMissingData: 'ignore' }, current)).toBe(retained);
    expect(nextState(range, { ...rule, TreatMissingData: 'notBreaching' }, current)).toBe(notBreaching);
  }
});

describe('metric math', () => {
  it.each([
    ['1 + 2 * 3', 7],
    ['100 * b / a', 40],
    ['IF(a > b, 10, 20)', 10],
    ['IF(none >= 5, 1, 2)', 2],
    ['IF(FILL(none, 0) >= 50, 100 * none / none, 0)', 0],
    ['a / 0', undefined],
    ['a + none', undefined],
    ['FILL(none, 0) + 1', 1],
    ['FILL(a, 0)', 5],
  ])('%s is %j', (expression, result) => {
    expect(compute(expression, [{ a: 5, b: 2, none: undefined }])).toEqual([result]);
  });

  it('adds up the periods before', () => {
    const periods = [undefined, 2, undefined, 3].map((a) => ({ a }));
    expect(compute('RUNNING_SUM(FILL(a, 0))', periods)).toEqual([0, 2, 2, 5]);
  });

  it.each(["SEARCH('{Example} Count', 'Sum', 60)", 'c', 'a b', 'a +'])(
    'throws at what it does not know: %s',
    (text) => {
      expect(() => compute(text, [{ a: 5, b: 2 }])).toThrow();
    },
  );
});
