/** Returns whether less than `lengthMs` has passed since `start`. A negative age, from a clock that was set back, is false. */
export function isWithin(lengthMs: number, start: number | undefined, now: number): boolean {
  return start !== undefined && now >= start && now - start < lengthMs;
}
