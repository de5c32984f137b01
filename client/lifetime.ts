/** Whether it is a time in whole seconds; more than thirty years is a mistake, and would leave the range of dates in the end. */
export function isLifetime(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= 1_000_000_000;
}
