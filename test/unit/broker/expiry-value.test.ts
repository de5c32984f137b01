import { describe, expect, it, onTestFinished, vi } from 'vitest';
import {
  expiryNameOf,
  parseHttpDate,
  readExpiryValue,
  readJwt,
  SECONDS,
} from '../../../functions/broker/token-response/expiry-value.ts';

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const NOON = Date.UTC(2026, 10, 21, 12, 34, 56);
const HTTP_DATES = ['Sat, 21 Nov 2026 12:34:56 GMT', 'Saturday, 21-Nov-26 12:34:56 GMT', 'Sat Nov 21 12:34:56 2026'];

/** The service's clock is half a minute ahead. */
const CLOCK = { requestStartedAt: Date.UTC(2026, 10, 21), offsetMs: -30_000 };
const length = (milliseconds: number) => CLOCK.requestStartedAt + milliseconds;
const moment = (time: number) => time + CLOCK.offsetMs;
const NOTHING = undefined;
const UNREADABLE = Number.NaN;

describe('the value of a member', () => {
  it.each<[unknown, number | undefined]>([
    [3_600, length(3_600_000)],
    ['3600', length(3_600_000)],
    [' 59.25 ', length(59_250)],
    [-1, length(-1_000)],
    [1e9 - 1, length((1e9 - 1) * 1_000)],
    [1e9, moment(1e12)],
    ['1900000000', moment(1.9e12)],
    [1e12, moment(1e12)],
    ['2026-11-21T12:00:00Z', moment(Date.UTC(2026, 10, 21, 12))],
    ['0:01:00', length(3_600_000)],
    [`${' '.repeat(62)}60`, length(60_000)],
    [`${' '.repeat(63)}60`, UNREADABLE],
    [undefined, NOTHING],
    [null, NOTHING],
    [false, NOTHING],
    ['', NOTHING],
    [' ', NOTHING],
    [true, UNREADABLE],
    [{}, UNREADABLE],
    ['soon', UNREADABLE],
    [Number.POSITIVE_INFINITY, UNREADABLE],
  ])('%j tells %j', (value, told) => {
    expect(readExpiryValue(value, SECONDS, CLOCK)).toEqual(told);
  });

  it.each<[string, number]>([
    ['2026-11-21T12:34:56Z', NOON],
    ['2026-11-21 12:34:56Z', NOON],
    ['2026-11-21t12:34:56z', NOON],
    ['2026-11-21T12:34:56', NOON],
    ['2026-11-21T12:34', NOON - 56 * SECOND_MS],
    ['2026-11-21', NOON - 12 * HOUR_MS - 34 * MINUTE_MS - 56 * SECOND_MS],
    ['2026-11-21T12:34:56.7Z', NOON + 700],
    ['2026-11-21T12:34:56,789Z', NOON + 789],
    ['2026-11-21T12:34:56.789999999Z', NOON + 789],
    ['2026-11-21T12:34:56+01:00', NOON - HOUR_MS],
    ['2026-11-21T12:34:56-0130', NOON + 1.5 * HOUR_MS],
    ['2026-11-21T12:34:56+01', NOON - HOUR_MS],
  ])('is a date and time: %s', (text, time) => {
    expect(readExpiryValue(text, SECONDS, CLOCK)).toEqual(moment(time));
  });

  it.each(['2026-11-21T12:34:56', '2026-11-21 12:34:56'])('is never read in the zone of the machine: %s', (text) => {
    const parse = vi.spyOn(Date, 'parse');
    onTestFinished(() => parse.mockRestore());
    expect(readExpiryValue(text, SECONDS, CLOCK)).toEqual(moment(NOON));
    expect(parse).toHaveBeenCalledExactlyOnceWith('2026-11-21T12:34:56Z');
  });

  it.each([
    ['0:00:00', 0],
    ['0:00:59', 59 * MINUTE_MS],
    ['0:19:59', 19 * HOUR_MS + 59 * MINUTE_MS],
    ['0:23:00', 23 * HOUR_MS],
    ['1:02:03', 26 * HOUR_MS + 3 * MINUTE_MS],
    ['9:00:00', 216 * HOUR_MS],
  ])('is days, hours and minutes: %s', (text, milliseconds) => {
    expect(readExpiryValue(text, SECONDS, CLOCK)).toEqual(length(milliseconds));
  });

  it.each([
    ...['on 2026-11-21T12:34:56Z', '2026-11-21T12:34:56Z or so', '2026-11-21T', '2026-11-21T12', '2026-13-01'],
    ...['2026-11-21T12:34:56.Z', '2026-11-21T12:34:56.1234567890Z', '2026-11-21T12:34:56+1'],
    ...['2026-11-21T12:34:56+1:00', '2026-11-21Z', '2026-11-21T12:34.5Z', '12-11-21', '2026-1-2', '21/11/2026'],
    ...['2026-11-21 12:34:56 UTC', '2026-11-21T12:34:56+01:00[Europe/Paris]', `/Date(${NOON})/`, ...HTTP_DATES],
    ...['1:2:3', '1:24:60', '1:00:60', '0:24:00', '01:00:00', '10:60:00', '1:00', 'x1:02:03', '1:02:03x'],
    ...['1h', '60 minutes', 'PT1H', '1.00:00:00', '1e3', '3,600'],
  ])('is unreadable, neither a number nor a time that services agree on: %j', (text) => {
    expect(readExpiryValue(text, SECONDS, CLOCK)).toEqual(UNREADABLE);
  });
});

describe('the name of a member', () => {
  it.each<[string, boolean, number]>([
    ['expires_in', false, SECOND_MS],
    ['TTL', false, SECOND_MS],
    ['accessTokenExpiresAt', true, SECOND_MS],
    ['exp', true, SECOND_MS],
    ['expiresInMs', false, 1],
    ['ttl_ms', false, 1],
    ['ttl_sec', false, SECOND_MS],
    ['ttl-secs', false, SECOND_MS],
    ['expires_in_seconds', false, SECOND_MS],
    ['ttl_min', false, MINUTE_MS],
    ['ttl_mins', false, MINUTE_MS],
    ['lifetime.minutes', false, MINUTE_MS],
    ['validForHours', false, HOUR_MS],
    ['lifetimeInDays', false, 24 * HOUR_MS],
    ['expires_at_millis', true, 1],
    ['expires_at_milliseconds', true, 1],
  ])('%s tells an expiry: a moment %j, in units of %j ms', (name, isMoment, unitMs) => {
    expect(expiryNameOf(name)).toEqual({ isMoment, unitMs });
  });

  it.each([
    ...['refresh_expires_in', 'ext_expires_in', 'expires_in_access', 'ttl_ms_left', 'ms', 'token', 'minutes', ''],
  ])('%j tells none', (name) => {
    expect(expiryNameOf(name)).toBeUndefined();
  });
});

describe('the expiry of a JWT', () => {
  const HEADER = { alg: 'RS256' };

  it.each([
    ['is in seconds', 1_767_229_200.5, 1_767_229_200_500],
    ['is in seconds below 10¹²', 999_999_999_999, 999_999_999_999_000],
    ['is in milliseconds from 10¹² on', 1e12, 1e12],
    ['may be missing', undefined, undefined],
    ['is no text', '2026-01-01T00:00:00Z', undefined],
    ['is nothing else', [1_767_225_600], undefined],
  ])('%s', (_what, exp, expiresAt) => {
    expect(readJwt(jwtOf(HEADER, { exp }))).toEqual({ expiresAt });
  });

  it('is not endless', () => {
    expect(readJwt(`${encoded(HEADER)}.${base64url('{"exp":1e999}')}.s`)).toEqual({ expiresAt: undefined });
  });

  it('is found with any characters of base64url', () => {
    const token = jwtOf({ ...HEADER, kid: '~~~???' }, { '~~~': '???', '~~': '>>>', exp: 1_767_229_200 });
    expect(token).toMatch(/-.*_/);
    expect(readJwt(token)?.expiresAt).toBe(1_767_229_200_000);
  });

  const header = encoded(HEADER);
  const claims = encoded({ exp: 1_767_229_200 });

  it.each([
    ['is a text without dots', header],
    ['has no signature', `${header}.${claims}`],
    ['has four parts', `${header}.${claims}.s.s`],
    ['has five parts, as one that is encrypted', `${header}.${claims}.s.s.s`],
    ['has no header', `.${claims}.s`],
    ['has no claims', `${header}..s`],
    ['names no algorithm', `${encoded({ typ: 'JWT' })}.${claims}.s`],
    ['names an algorithm that is no text', `${encoded({ alg: 256 })}.${claims}.s`],
    ['has a header that is no JSON', `${base64url('RS256')}.${claims}.s`],
    ['has claims that are no JSON', `${header}.${base64url('exp')}.s`],
    ['has claims that are no object', `${header}.${encoded([1_767_229_200])}.s`],
    ['has claims that are null', `${header}.${encoded(null)}.s`],
    ['has claims that are no base64', `${header}.{"exp":1767229200}.s`],
  ])('is not looked for in a text that %s', (_what, text) => {
    expect(readJwt(text)).toBeUndefined();
  });
});

describe('the date of HTTP', () => {
  it.each(HTTP_DATES)('is read from %s', (text) => {
    expect(parseHttpDate(text)).toBe(NOON);
  });

  it.each([
    ...HTTP_DATES.flatMap((text) => [`on ${text}`, `${text} or so`]),
    ...['Sat, 21 Nov 2026 12:34:56', 'Sat, 21 Nov 2026 12:34:56 CET', '2026-11-21T12:34:56Z'],
    ...['Sat, 21 Xyz 2026 12:34:56 GMT'],
  ])('is not read from %j', (text) => {
    expect(parseHttpDate(text)).toBeNaN();
  });
});

function jwtOf(header: object, claims: object): string {
  return `${encoded(header)}.${encoded(claims)}.c2lnbmF0dXJl`;
}

function encoded(value: unknown): string {
  return base64url(JSON.stringify(value));
}

function base64url(text: string): string {
  return Buffer.from(text).toString('base64url');
}
