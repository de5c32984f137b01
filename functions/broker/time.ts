/** Returns whether less than `lengthMs` has passed since `start`. Returns false after a clock was set back. */
export function isWithin(lengthMs: number, start: number | undefined, now: number): boolean {
  return start !== undefined && now >= start && now - start < lengthMs;
}

/** Returns whether the time of a call is over. A timer may fire a little early. */
export function isOver(deadline: number, now: number): boolean {
  return now >= deadline - 5;
}
