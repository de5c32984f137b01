/**
 * The milliseconds of a duration that is written as text; undefined for everything else.
 *
 * - `D:HH:MM`: days, hours, minutes. One digit of days; two (`01:00:00`) are the hours of `HH:MM:SS`, the shorter reading
 * - `D.HH:MM:SS` and `HH:MM:SS`, .NET's TimeSpan
 * - `1h`, `60 minutes`, `3600s`: a number and a unit
 * - `PT1H`, `P1DT12H`: ISO 8601
 */
export function parseDuration(text: string): number | undefined {
  return parseDaysHoursMinutes(text) ?? parseTimeSpan(text) ?? parseWithUnit(text) ?? parseIsoDuration(text);
}

/** The milliseconds of a unit of time: `ms`, `seconds`, `min`, `h`. */
export function unitMs(unit: string): number | undefined {
  return UNITS_MS.get(unit.toLowerCase());
}

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const WEEK_MS = 7 * DAY_MS;

const UNITS_MS: ReadonlyMap<string, number> = new Map([
  ...unitsOf(1, ['ms', 'msec', 'msecs', 'millis', 'millisecond', 'milliseconds']),
  ...unitsOf(SECOND_MS, ['s', 'sec', 'secs', 'second', 'seconds']),
  ...unitsOf(MINUTE_MS, ['m', 'min', 'mins', 'minute', 'minutes']),
  ...unitsOf(HOUR_MS, ['h', 'hr', 'hrs', 'hour', 'hours']),
  ...unitsOf(DAY_MS, ['d', 'day', 'days']),
  ...unitsOf(WEEK_MS, ['w', 'week', 'weeks']),
]);

function unitsOf(milliseconds: number, names: readonly string[]): (readonly [string, number])[] {
  return names.map((name) => [name, milliseconds] as const);
}

function parseDaysHoursMinutes(text: string): number | undefined {
  const match = /^(\d):([01]\d|2[0-3]):([0-5]\d)$/.exec(text);
  return match === null ? undefined : sum(match, [DAY_MS, HOUR_MS, MINUTE_MS]);
}

function parseTimeSpan(text: string): number | undefined {
  const match = /^(?:(\d{1,6})\.)?(\d{1,2}):([0-5]\d):([0-5]\d)(?:\.\d{1,9})?$/.exec(text);
  return match === null ? undefined : sum(match, [DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS]);
}

function parseWithUnit(text: string): number | undefined {
  const match = /^(\d{1,15}(?:\.\d{1,9})?) ?([a-z]{1,12})$/i.exec(text);
  if (match === null) return undefined;
  const milliseconds = unitMs(match[2] ?? '');
  return milliseconds === undefined ? undefined : Number(match[1]) * milliseconds;
}

function parseIsoDuration(text: string): number | undefined {
  const match =
    /^P(?=[\dT])(?:(\d{1,9})W)?(?:(\d{1,9})D)?(?:T(?=\d)(?:(\d{1,9})H)?(?:(\d{1,9})M)?(?:(\d{1,9}(?:\.\d{1,9})?)S)?)?$/.exec(
      text,
    );
  return match === null ? undefined : sum(match, [WEEK_MS, DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS]);
}

/** Adds up the groups of a match, each in its own unit. */
function sum(match: RegExpExecArray, units: readonly number[]): number {
  return units.reduce((total, unit, index) => total + Number(match[index + 1] ?? 0) * unit, 0);
}
