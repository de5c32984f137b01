import { describe, expect, it } from 'vitest';
import { parseDuration, unitMs } from '../../../functions/broker/token-response/expiry-value.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const WEEK = 7 * DAY;

describe('a duration', () => {
  it.each([
    // D:HH:MM
    ['1:02:03', DAY + 2 * HOUR + 3 * MINUTE],
    ['0:19:59', 19 * HOUR + 59 * MINUTE],
    ['0:23:00', 23 * HOUR],
    // HH:MM:SS, also of .NET, and with an hour that no day has
    ['01:00:00', HOUR],
    ['0:24:00', 24 * MINUTE],
    ['99:59:59', 99 * HOUR + 59 * MINUTE + 59 * SECOND],
    ['00:05:00.1234567', 5 * MINUTE],
    ['00:05:00.123456789', 5 * MINUTE],
    ['1.00:00:00', DAY],
    ['123456.01:02:03', 123_456 * DAY + HOUR + 2 * MINUTE + 3 * SECOND],
    // A number and a unit
    ['3600s', HOUR],
    ['60 minutes', HOUR],
    ['1.25 Hours', 75 * MINUTE],
    ['999999999999999ms', 999_999_999_999_999],
    ['0.123456789 d', 0.123_456_789 * DAY],
    // ISO 8601
    ['PT1H', HOUR],
    ['PT90M', 90 * MINUTE],
    ['PT0.123456789S', 123.456_789],
    ['PT1H2M3S', HOUR + 2 * MINUTE + 3 * SECOND],
    ['P1DT12H', DAY + 12 * HOUR],
    ['P2W', 2 * WEEK],
    ['P12W34DT56H78M90S', 12 * WEEK + 34 * DAY + 56 * HOUR + 78 * MINUTE + 90 * SECOND],
    ['PT123456789S', 123_456_789 * SECOND],
    ['PT123456789M', 123_456_789 * MINUTE],
    ['PT123456789H', 123_456_789 * HOUR],
    ['P123456789D', 123_456_789 * DAY],
    ['P123456789W', 123_456_789 * WEEK],
  ])('of %s is read', (text, milliseconds) => {
    expect(parseDuration(text)).toBe(milliseconds);
  });

  it.each([
    ...['', ' ', 'soon', 'h', '3600', '1:2:3', '1:24:60', '1:00:60', '10:60:00', '100:00:00', '1:00', '12:00'],
    ...['x1:02:03', '1:02:03x', '00:05:00.', '00:05:00.x', '00:05:00.1234567890', '1234567.00:00:00', '.01:00:00'],
    ...['1 fortnight', '1  h', ' 1h', '1h ', '-1h', '1h30m', '1.h', '1.1234567890h', '1.xh', '1234567890123456ms'],
    ...['P', 'PT', 'P1DT', 'P1Y', 'P1M', 'pt1h', 'PxW', 'PxD', 'PTxH', 'PTxM', 'PTxS', 'PT1.S', 'PT1.xS', 'PT1.5H'],
    ...['x PT1H', 'PT1H x', 'PT1S1M', 'P1D1H', 'PW', 'PT1.1234567890S', 'P1234567890D', 'PT1234567890S'],
  ])('is not %j', (text) => {
    expect(parseDuration(text)).toBeUndefined();
  });
});

describe('a unit of time', () => {
  it.each([
    [1, ['ms', 'msec', 'msecs', 'millis', 'millisecond', 'milliseconds', 'MS']],
    [SECOND, ['s', 'sec', 'secs', 'second', 'seconds', 'Seconds']],
    [MINUTE, ['m', 'min', 'mins', 'minute', 'minutes', 'M']],
    [HOUR, ['h', 'hr', 'hrs', 'hour', 'hours', 'HOURS']],
    [DAY, ['d', 'day', 'days', 'Day']],
    [WEEK, ['w', 'week', 'weeks', 'W']],
    [undefined, ['', 'month', 'year', 'second s', 'constructor']],
  ])('of %d milliseconds', (milliseconds, names) => {
    expect(names.map(unitMs)).toEqual(names.map(() => milliseconds));
  });
});
