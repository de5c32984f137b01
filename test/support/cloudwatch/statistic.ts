/**
 * What a statistic makes of the values of one period. Percentiles by nearest rank: CloudWatch does not say how it
 * interpolates, so no test must depend on more.
 */
export function statisticOf(statistic: string, values: readonly number[]): number | undefined {
  if (values.length === 0) return undefined;
  const sum = values.reduce((total, value) => total + value, 0);
  switch (statistic) {
    case 'Sum':
      return sum;
    case 'Average':
      return sum / values.length;
    case 'SampleCount':
      return values.length;
    case 'Maximum':
      return Math.max(...values);
    case 'Minimum':
      return Math.min(...values);
  }
  const percent = /^p(\d{1,2}(?:\.\d+)?)$/.exec(statistic)?.[1];
  if (percent === undefined) throw new TypeError(`${statistic} is no statistic`);
  return values.toSorted((one, other) => one - other)[Math.ceil((Number(percent) / 100) * values.length) - 1];
}
