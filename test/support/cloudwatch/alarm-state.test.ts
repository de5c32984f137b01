import { describe, expect, it } from 'vitest';
import { type AlarmState, type MissingData, nextState } from './alarm-state.ts';

/**
 * The examples of AWS's own documentation: five data points were asked for, the newest is the last one; 0 is within the
 * threshold, X is not, - is missing. What must follow: for `missing`, `ignore`, `breaching`, `notBreaching`.
 *
 * @see https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/alarms-and-missing-data.html
 */
type Row = readonly [points: string, ...states: (AlarmState | 'retained')[]];

const THREE_OF_THREE: readonly Row[] = [
  ['0-X-X', 'OK', 'OK', 'OK', 'OK'],
  ['0----', 'OK', 'OK', 'OK', 'OK'],
  ['-----', 'INSUFFICIENT_DATA', 'retained', 'ALARM', 'OK'],
  ['0XX-X', 'ALARM', 'ALARM', 'ALARM', 'ALARM'],
  ['----X', 'INSUFFICIENT_DATA', 'retained', 'ALARM', 'OK'],
  ['X----', 'ALARM', 'retained', 'ALARM', 'OK'],
];

const TWO_OF_THREE: readonly Row[] = [
  ['0-X-X', 'ALARM', 'ALARM', 'ALARM', 'ALARM'],
  ['00X0X', 'ALARM', 'ALARM', 'ALARM', 'ALARM'],
  ['0-X--', 'OK', 'OK', 'ALARM', 'OK'],
  ['----0', 'OK', 'OK', 'ALARM', 'OK'],
  ['----X', 'INSUFFICIENT_DATA', 'retained', 'ALARM', 'OK'],
];

const TREATMENTS: readonly MissingData[] = ['missing', 'ignore', 'breaching', 'notBreaching'];

describe.each([
  { datapointsToAlarm: 3, table: THREE_OF_THREE },
  { datapointsToAlarm: 2, table: TWO_OF_THREE },
])('an alarm with $datapointsToAlarm of 3 data points', ({ datapointsToAlarm, table }) => {
  it.each(table)('with %s says what the documentation says', (text, ...expected) => {
    const range = [...text].map((point) => (point === '-' ? undefined : point === 'X'));
    for (const [index, treatMissingData] of TREATMENTS.entries()) {
      for (const current of ['OK', 'ALARM'] as const) {
        const rule = { evaluationPeriods: 3, datapointsToAlarm, treatMissingData };
        const state = expected[index];
        expect(nextState(range, rule, current), treatMissingData).toBe(state === 'retained' ? current : state);
      }
    }
  });
});
