import { describe, expect, it } from 'vitest';
import { parseDateTime, parseHttpDate } from '../../../functions/broker/token-response/expiry-value.ts';

const NOON = Date.UTC(2026, 10, 21, 12, 34, 56);
const HTTP_DATES = ['Sat, 21 Nov 2026 12:34:56 GMT', 'Saturday, 21-Nov-26 12:34:56 GMT', 'Sat Nov 21 12:34:56 2026'];
const HOUR_MS = 3_600_000;

describe('a date and time', () => {
  it.each<[string, number]>([
    ['2026-11-21T12:34:56Z', NOON],
    ['2026-11-21 12:34:56 UTC', NOON],
    ['2026-11-21t12:34:56z', NOON],
    ['2026-11-21T12:34:56GMT', NOON],
    ['2026-11-21T12:34:56', NOON],
    ['2026-11-21T12:34', NOON - 56_000],
    ['2026-11-21', NOON - 12 * HOUR_MS - 34 * 60_000 - 56_000],
    ['2026-11-21T12:34:56.7Z', NOON + 700],
    ['2026-11-21T12:34:56,789Z', NOON + 789],
    ['2026-11-21T12:34:56.789999999Z', NOON + 789],
    ['2026-11-21T12:34:56+01:00', NOON - HOUR_MS],
    ['2026-11-21T12:34:56-0130', NOON + 1.5 * HOUR_MS],
    ['2026-11-21T12:34:56+01', NOON - HOUR_MS],
    ['2026-11-21T12:34:56+01:00[Europe/Paris]', NOON - HOUR_MS],
    [`/Date(${NOON})/`, NOON],
    [`/Date(${NOON}+0100)/`, NOON],
    [`/Date(${NOON}-0130)/`, NOON],
    ...HTTP_DATES.map((text): [string, number] => [text, NOON]),
  ])('is read from %s', (text, time) => {
    expect(parseDateTime(text)).toBe(time);
  });

  it.each([
    ...['on 2026-11-21T12:34:56Z', '2026-11-21T12:34:56Z or so', '2026-11-21T', '2026-11-21T12', '2026-13-01'],
    ...[
      '2026-11-21T12:34:56.Z',
      '2026-11-21T12:34:56.1234567890Z',
      '2026-11-21T12:34:56+1',
      '2026-11-21T12:34:56+1:00',
    ],
    ...['2026-11-21Z', '2026-11-21T12:34:56+01:00[]', '2026-11-21T12:34.5Z', '12-11-21', '2026-1-2', ''],
    ...[`x/Date(${NOON})/`, `/Date(${NOON})/x`, `/Date(${NOON}z0100)/`, `/Date(${NOON}+01)/`, `/Date(${NOON}+abcd)/`],
    ...['/Date()/', '/Date(1234567890123456)/', 'Nov 21, 2026', '21/11/2026'],
  ])('is not read from %j', (text) => {
    expect(parseDateTime(text)).toBeUndefined();
  });
});

describe('the date of HTTP', () => {
  it.each(HTTP_DATES)('is read from %s', (text) => {
    expect(parseHttpDate(text)).toBe(NOON);
  });

  it.each([
    ...HTTP_DATES.flatMap((text) => [`on ${text}`, `${text} or so`]),
    ...[
      'Sat, 21 Nov 2026 12:34:56',
      'Sat, 21 Nov 2026 12:34:56 CET',
      '2026-11-21T12:34:56Z',
      'Sat, 21 Xyz 2026 12:34:56 GMT',
    ],
  ])('is not read from %j', (text) => {
    expect(parseHttpDate(text)).toBeUndefined();
  });
});
