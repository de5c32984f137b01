/**
 * The epoch milliseconds of an HTTP date in any of its three forms, undefined for everything else.
 *
 * @see RFC 9110 §5.6.7
 */
export function parseHttpDate(text: string): number | undefined {
  if (IMF_FIXDATE.test(text) || RFC_850_DATE.test(text)) return timeOf(text);
  return ASCTIME_DATE.test(text) ? timeOf(`${text} GMT`) : undefined;
}

/**
 * The epoch milliseconds of an ISO 8601 date or date and time (RFC 3339 and its usual relatives: a space for the `T`,
 * no seconds, no colon in the zone, a zone's name behind it as in RFC 9557), of an HTTP date, and of .NET's
 * `/Date(…)/`; undefined for everything else. A time without a zone is taken as UTC, a date without a time as its first
 * moment.
 */
export function parseDateTime(text: string): number | undefined {
  const iso = ISO_8601.exec(text);
  if (iso === null) return parseDotNetDate(text) ?? parseHttpDate(text);
  const [, date, minutes = '00:00', seconds = ':00', fraction = '', zone] = iso;
  return timeOf(`${date}T${minutes}${seconds}.${fraction.slice(0, 3).padEnd(3, '0')}${offsetOf(zone)}`);
}

// Date.parse alone would accept nearly any text, and read some of it in the machine's own time zone.
const IMF_FIXDATE = /^[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT$/;
const RFC_850_DATE = /^[A-Z][a-z]{2,5}day, \d\d-[A-Z][a-z]{2}-\d\d \d\d:\d\d:\d\d GMT$/;
const ASCTIME_DATE = /^[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4}$/;
const ISO_8601 =
  /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d)(?:(:\d\d)(?:[.,](\d{1,9}))?)? ?(Z|UTC|GMT|[+-]\d\d(?::?\d\d)?)?(?:\[[\w/+-]+\])?)?$/i;

function timeOf(text: string): number | undefined {
  const time = Date.parse(text);
  return Number.isNaN(time) ? undefined : time;
}

function offsetOf(zone = 'Z'): string {
  return /^[+-]/.test(zone) ? `${zone.slice(0, 3)}:${zone.slice(3).replace(':', '') || '00'}` : 'Z';
}

function parseDotNetDate(text: string): number | undefined {
  const milliseconds = /^\/Date\((\d{1,15})(?:[+-]\d{4})?\)\/$/.exec(text)?.[1];
  return milliseconds === undefined ? undefined : Number(milliseconds);
}
