/** Whether it is less than this long since `start`. A clock that was set back makes an age negative: the real one is unknown. */
export function isWithin(lengthMs: number, start: number | undefined, now: number): boolean {
  return start !== undefined && now >= start && now - start < lengthMs;
}
