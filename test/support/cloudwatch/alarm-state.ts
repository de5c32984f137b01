/** What an alarm says. */
export type AlarmState = 'OK' | 'ALARM' | 'INSUFFICIENT_DATA';

export type MissingData = 'missing' | 'ignore' | 'breaching' | 'notBreaching';

interface Rule {
  /** N: how many data points are looked at. */
  readonly evaluationPeriods: number;
  /** M: how many of them must breach. */
  readonly datapointsToAlarm: number;
  readonly treatMissingData: MissingData;
}

/**
 * The state that follows from the data points of the evaluation range, the newest last: whether each breaches, or
 * `undefined` where there is none.
 *
 * Real data points count first, however old; only what is then still lacking is filled in. Without a rule for what is
 * missing, breaching ones alone are enough as soon as the oldest of them is as old as M.
 *
 * @see https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/alarms-and-missing-data.html
 */
export function nextState(range: readonly (boolean | undefined)[], rule: Rule, current: AlarmState): AlarmState {
  const { evaluationPeriods, datapointsToAlarm, treatMissingData } = rule;
  const real = range.filter((point) => point !== undefined).slice(-evaluationPeriods);
  const breaching = real.filter((point) => point).length;
  const lacking = evaluationPeriods - real.length;
  if (lacking === 0 || treatMissingData === 'notBreaching') return breaching >= datapointsToAlarm ? 'ALARM' : 'OK';
  if (treatMissingData === 'breaching') return breaching + lacking >= datapointsToAlarm ? 'ALARM' : 'OK';

  if (breaching >= datapointsToAlarm) return 'ALARM';
  if (breaching < real.length) return 'OK';
  if (treatMissingData === 'ignore') return current;
  const age = range.length - range.indexOf(true);
  return breaching > 0 && age >= datapointsToAlarm ? 'ALARM' : 'INSUFFICIENT_DATA';
}
