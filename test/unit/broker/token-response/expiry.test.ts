import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { HOUR_MS, START } from '../../../support/example.ts';
import { type Answer, base64url, jwt, problemOf, RECEIVED_AT, read, tokenOf } from './token-answers.ts';

const TOKEN = 'tok-4f9Kq2ZxV7mN1bR8';
const LONG = { settings: { maxLifetimeSeconds: 1e12 } };
const EXPIRED = 'by `expires_in` the token had expired';
const HALF_AN_HOUR = 'response 1800';

type Settings = NonNullable<Answer['settings']>;
type Members = Readonly<Record<string, unknown>>;

/** The source of the expiry with the seconds from the start of the request, or the beginning of the explanation. */
function expiryOf(members: Members, answer: Partial<Answer> = {}): string {
  const reading = read({ body: { access_token: TOKEN, ...members }, ...answer });
  if (reading.outcome === 'token') {
    return `${reading.token.expirySource} ${(reading.token.expiresAt - START) / 1_000}`;
  }
  const detail = 'problem' in reading ? reading.problem.detail : '';
  return (
    /(?:by .* the token had expired|`\S*` cannot be read|response.lifetimeMember names)/.exec(detail)?.[0] ?? detail
  );
}

function warningsOf(members: Members, answer: Partial<Answer> = {}) {
  return tokenOf({ body: { access_token: TOKEN, ...members }, ...answer }).warnings;
}

describe('a member that says how long the token lives', () => {
  it.each([
    ...['expires_in', 'expiresIn', 'ExpiresIn', 'expires-in', 'expire_in', 'expiryIn', 'expirationIn', 'expiresAfter'],
    ...['expireAfter', 'expires', 'expire', 'expiry', 'expiration', 'TTL', 'timeToLive', 'validFor', 'validityPeriod'],
    ...['lifetime', 'lifeSpan', 'maxAge', 'timeToExpire', 'seconds_to_expire', 'seconds_to_expiry'],
    ...['secondsUntilExpiry', 'accessTokenExpiresIn', 'token_ttl', 'jwt_expires_in', 'expires_in_seconds', 'ttl_sec'],
    ...['expiresInSecond', 'expired_in', 'ttl-secs', 'expires_at', `${'_'.repeat(54)}expires_in`],
  ])('may be called %s', (name) => {
    expect(expiryOf({ [name]: 1_800 })).toBe(HALF_AN_HOUR);
  });

  it.each(['expiresInMs', 'ttl_millis', 'expires_at_milliseconds'])('may tell milliseconds: %s', (name) => {
    expect(expiryOf({ [name]: 1_800_000 })).toBe(HALF_AN_HOUR);
  });

  it.each([
    ...['expired', 'refresh_expired_at', 'refresh_expires_in', 'refresh_expires_at'],
    ...['expires_in_access', 'ttl_minutes', 'ttl_ms_left', 'ms'],
    `${'_'.repeat(55)}expires_in`,
  ])('is not called %s', (name) => expect(expiryOf({ [name]: 1_800 })).toBe('assumed 300'));

  it.each<[unknown, string]>([
    ['1800', HALF_AN_HOUR],
    [' 59.25 ', 'response 59.25'],
    [0.7505, 'response 0.75'],
    ['0:00:59', 'response 3540'],
    ['0:19:30', 'response 70200'],
    ['1:23:00', 'response 169200'],
    [315_360_000, 'response 315360000'],
    [1e9 - 1, 'response 999999999'],
    [`${' '.repeat(62)}60`, 'response 60'],
    ...['1h', 'PT1H', '60m', '0h60m0s', '3600 seconds', '1 hour', 'P0DT59M60S'].map((length): [unknown, string] => [
      length,
      'response 3600',
    ]),
    ['1d12h', 'response 129600'],
    ['59m59.5s', 'response 3599.5'],
    // @see golang/oauth2#738
    ...['0001-01-01T00:00:00Z', '0001-01-01T00:00:00', '0000-00-00 00:00:00'].map((unset): [unknown, string] => [
      unset,
      'assumed 300',
    ]),
    ...[null, false, '', ' '].map((nothing): [unknown, string] => [nothing, 'assumed 300']),
    ...[0, -1, '-3600', 0.25, '0:00:00', 1e9, 1e12].map((past): [unknown, string] => [past, EXPIRED]),
  ])('has the value %j', (value, told) => {
    expect(expiryOf({ expires_in: value }, LONG)).toBe(told);
  });

  it.each([
    ...['NaN', 'soon', '1e3', '3,600', '1h or so', 'PT', 'h', '1y', '1:2:3', '1:24:00'],
    ...['1:00:60', '01:00:00', 'x1:02:03', '1:02:03x'],
    ...['on 2026-11-21T12:34:56Z', '2026-11-21T12:34:56Z or so', '2026-11-21T12', '2026-13-01', '2026-11-21Z'],
    ...['2026-11-21T12:34:56.Z', '2026-11-21T12:34:56.1234567890Z', '2026-11-21T12:34:56+1', '1/1/2026 Z'],
    ...['12-11-21', 'Sat, 21 Nov 2026', '21 Xyz 2026 12:34:56 GMT', '21 Nov 2026 12:34:56 CET', '9'.repeat(65)],
    ...['Date(1798761600000)', true, {}, [3_600]],
  ])('cannot be read, unless another one can: %j', (value) => {
    expect(expiryOf({ expires_in: value })).toBe('`expires_in` cannot be read');
    expect(expiryOf({ expires_in: value, ttl: 1_800 })).toBe(HALF_AN_HOUR);
    expect(expiryOf({ expires_in: value }, { settings: { tokenLifetimeSeconds: 60 } })).toBe('configured 60');
  });

  it('is no number that is endless', () => {
    expect(expiryOf({}, { body: `{"token":"${TOKEN}","expires_in":1e999}` })).toBe('`expires_in` cannot be read');
  });
});

describe('a member that says when the token expires', () => {
  const end = START / 1_000 + 1_800;

  it.each([
    ...['expires_at', 'expireAt', 'expiryAt', 'expires_on', 'expireOn', 'expiryDate', 'expirationDate', 'expireDate'],
    ...['expiresDate', 'expirationTime', 'expiryTime', 'expireTime', 'expiryDateTime', 'expiryTimestamp', 'expiresUtc'],
    // @see FusionAuth/fusionauth-java-client#21
    ...['tokenExpirationInstant', 'access_token_expired_at', 'ExpiresAtUtc', 'expirationDateUTC', 'expiryTimestampUtc'],
    ...['validUntil', 'validTill', 'valid_to', 'notAfter', 'exp', 'accessTokenExpiresAt', 'expires_in', 'expires'],
  ])('may be called %s', (name) => {
    const units = [1, 1e3, 1e6, 1e9].flatMap((unit) => [end * unit, `${end * unit}`]);
    for (const value of [`${end}.0`, ...units]) {
      expect(expiryOf({ [name]: value })).toBe(HALF_AN_HOUR);
    }
  });

  it.each([
    ...['2026-01-01T00:30:00Z', '2026-01-01 00:30:00Z', '2026-01-01t00:30:00z', '2026-01-01T00:30:00.0000000Z'],
    ...['2026-01-01T01:30:00+01:00', '2025-12-31T23:00:00-0130', '2026-01-01T01:30:00+01', '2026-01-01 00:30 UTC'],
    ...['Thu, 01 Jan 2026 00:30:00 GMT', 'thu, 1 jan 2026 01:30 +0100', '01-Jan-2026 00:30:00 Z'],
    ...['Thursday, 01-Jan-26 00:30:00 GMT', '/Date(1767227400000+0100)/', '2026-01-01T01:30:00+01:00[Europe/Paris]'],
    // @see stormpath/stormpath-sdk-java#632
    ...['2026-01-01 00:30:00.0 +0000 UTC', 'Thu Jan 01 00:30:00 UTC 2026'],
  ])('has the value %s', (value) => {
    expect(expiryOf({ expires: value })).toBe(HALF_AN_HOUR);
  });

  // @see superdesk/superdesk-core#2381
  describe('without a time zone', () => {
    const LOCAL = [
      ...['2026-01-01T02:30:00', '2026-01-01 02:30', '2026-01-02', 'Thu, 01 Jan 2026 02:30:00'],
      ...['20260101023000', '202601010230', 'Thu Jan  1 02:30:00 2026'],
    ];

    // @see wardbox/spotishell#22
    const COUNTRY = [
      ...[
        '1/1/2026 12:30:00 AM',
        '21/11/2026',
        '01.01.2026 00:30',
        '2026/01/01 00:30:00',
        'Jan 1, 2026, 12:30:00\u202fAM',
      ],
    ];

    it.each([...LOCAL, ...COUNTRY])('counts as if nothing was said, with a warning: %s', (expires) => {
      expect(expiryOf({ expires })).toBe('assumed 300');
      expect(expiryOf({ expires }, { settings: { tokenLifetimeSeconds: 900 } })).toBe('configured 900');
      expect(expiryOf({ expires, ttl: 60 })).toBe('response 60');
      expect(expiryOf({ expires: 'soon', expires_at: expires })).toBe('`expires` cannot be read');
      expect(warningsOf({ expires })).toEqual(['expiry-without-zone']);
      expect(warningsOf({ expires, ttl: 60 })).toEqual([]);
    });

    it('is in UTC when the settings name its member, in every time zone of the machine', () => {
      const parse = vi.spyOn(Date, 'parse');
      onTestFinished(() => parse.mockRestore());
      const answer = { settings: { ...LONG.settings, response: { lifetimeMember: 'expires' } } };
      expect(LOCAL.map((expires) => expiryOf({ expires }, answer))).toEqual(
        [9_000, 9_000, 86_400, 9_000, 9_000, 9_000, 9_000].map((seconds) => `response ${seconds}`),
      );
      expect(parse.mock.calls.flat()).toEqual(expect.arrayContaining(['2026-01-02T00:00Z', '2026-01-01T02:30:00Z']));
      expect(parse.mock.calls.flat().filter((text) => !text.endsWith('Z'))).toEqual([]);
      expect(warningsOf({ expires: LOCAL[0] }, answer)).toEqual([]);
    });
  });

  it('has passed when it is the moment at which the answer came', () => {
    expect(expiryOf({ expires_at: RECEIVED_AT })).toBe('by `expires_at` the token had expired');
    expect(expiryOf({ expires_at: RECEIVED_AT + 1 })).toBe('response 0.251');
  });

  it.each([-HOUR_MS, 600_000])('counts by the clock of the service, which is %d ms off, as its `date` shows', (off) => {
    const headers = { date: new Date(START + off).toUTCString() };
    const [time, claims] = [START + off + HOUR_MS, { exp: (START + off + HOUR_MS) / 1_000 }];
    for (const expires of [time, time / 1_000, new Date(time).toISOString(), 3_600]) {
      expect(expiryOf({ expires }, { headers })).toBe('response 3600');
    }
    expect(expiryOf({ access_token: jwt(claims) }, { headers })).toBe('jwt 3600');
    expect(expiryOf({ expires: START + HOUR_MS }, { headers: { date: 'soon' } })).toBe('response 3600');
  });

  it.each([-HOUR_MS, HOUR_MS])('does not move with a wrong `date`, here by %d ms, of a clock that is right', (off) => {
    const headers = { date: new Date(START + off).toUTCString() };
    const exp = START / 1_000 + 300;
    expect(expiryOf({ access_token: jwt({ exp }) }, { headers })).toBe('jwt 300');
    const early = { age: '0', date: new Date(START + off + 300_000).toUTCString() };
    const ofService = (START + off) / 1_000 + 600;
    expect(expiryOf({ expires_at: ofService }, { headers: early })).toBe('response 300');
    expect(expiryOf({ expires_at: exp }, { headers })).toBe('response 300');
    expect(expiryOf({ expires_at: exp - 301 }, { headers })).toMatch(off < 0 ? /^response / : /^by `expires_at`/);
  });

  // @see erlef/oidcc#538, stargate/stargate#767
  it('counts from the time when a cache stored the answer, as its `age` shows', () => {
    const headers = { age: '600' };
    expect(expiryOf({ expires_in: 1_800 }, { headers })).toBe('response 1200');
    expect(expiryOf({ expires_in: 600 }, { headers })).toBe(EXPIRED);
    expect(expiryOf({}, { headers, settings: { tokenLifetimeSeconds: 900 } })).toBe('configured 300');
    expect(expiryOf({ expires_in: 60 }, { headers: { age: '-1, old' } })).toBe('response 60');
  });

  it('counts by the own clock alone when the answer was stored, as its `age` shows', () => {
    const headers = { age: '1', date: new Date(START - HOUR_MS).toUTCString() };
    expect(expiryOf({ expires_at: START / 1_000 }, { headers })).toBe('by `expires_at` the token had expired');
  });
});

describe('of several that tell an expiry', () => {
  it.each<[Members, string]>([
    [{ expires_in: 3_600, ttl: 1_800, expires: '2026-01-01T00:00:45Z' }, 'response 45'],
    [{ expires_in: 1_800, expires_at: null, ttl: '', expires: false, refresh_expires_in: 0 }, HALF_AN_HOUR],
    [{ expires_in: 3_600, ttl: 0 }, 'by `ttl` the token had expired'],
  ])('the earliest counts: %j', (members, told) => {
    expect(expiryOf(members)).toBe(told);
  });

  it('those around the token count too', () => {
    const body = { expiresIn: 1_800, data: { session: { token: TOKEN, ttl: 3_600 } } };
    expect(expiryOf({}, { body })).toBe(HALF_AN_HOUR);
  });

  it.each([
    ['x-expires-at', '2026-01-01T00:30:00Z'],
    ['x-token-ttl', '1800'],
    ['x-auth-token-expires', '0:00:30'],
  ])('headers that name the token count too: %s', (name, value) => {
    expect(expiryOf({ ttl: 3_600 }, { headers: { [name]: value } })).toBe(HALF_AN_HOUR);
  });

  it('headers of the answer itself do not', () => {
    const headers = { 'cache-control': 'max-age=60', expires: new Date(START).toUTCString(), 'x-expires': '60' };
    expect(expiryOf({}, { headers })).toBe('assumed 300');
    expect(expiryOf({}, { headers: { 'x-token-ttl': '0' } })).toBe('by `x-token-ttl` the token had expired');
  });
});

describe('an expiry that a service gets wrong', () => {
  const FIFTY_YEARS = 1_576_797_207;

  // @see spring-attic/spring-security-oauth#1172, ruby-oauth/oauth2#284
  it.each([0, -1, '0:00:00', FIFTY_YEARS, '2019-12-19T00:00:00Z'])('is refused, with both settings: %j', (expires) => {
    const problem = problemOf({ body: { access_token: TOKEN, expires } });
    expect(problem.detail).toMatch(
      /^The answer .*\(200\).*set tokenLifetimeSeconds, or response.lifetimeMember \(false/,
    );
    expect(expiryOf({ expires }, { settings: { tokenLifetimeSeconds: 900 } })).toBe('configured 900');
    expect(expiryOf({ expires, ttl: 60 }, { settings: { tokenLifetimeSeconds: 900 } })).toBe('response 60');
    expect(expiryOf({ expires }, { settings: { response: { lifetimeMember: false } } })).toBe('assumed 300');
  });

  it('does not count with `lifetimeMember: false`, in a member or a header, but that of a JWT does', () => {
    const settings = { tokenLifetimeSeconds: 900, response: { lifetimeMember: false } } as const;
    const answer = { settings, headers: { 'x-token-ttl': '60' } };
    expect(expiryOf({ expires_in: 30 }, answer)).toBe('configured 900');
    expect(expiryOf({ access_token: jwt({ exp: START / 1_000 + 600 }) }, answer)).toBe('jwt 600');
  });

  it('is not that of a JWT, which its service reads too', () => {
    const token = jwt({ exp: START / 1_000 });
    const { detail } = problemOf({ body: { access_token: token }, settings: { tokenLifetimeSeconds: 900 } });
    expect(detail).toContain(
      "(JWT) the token had expired when it arrived. If this is wrong, compare the service's clock",
    );
  });

  // @see spring-attic/spring-security-oauth#975
  it('leaves the expired token with the problem, so that the next rule can see whether it is known', () => {
    const reading = read({ body: { access_token: TOKEN, expires_in: 0 } });
    expect(reading.outcome === 'held' && reading.lapsed?.reveal()).toBe(TOKEN);
    expect(read({ body: '' })).toMatchObject({ lapsed: undefined });
  });
});

it('a life time that the maximum cuts is warned of, as milliseconds in place of seconds', () => {
  expect(warningsOf({ expires_in: 3_600_000 })).toEqual(['lifetime-cut']);
  expect(warningsOf({ access_token: jwt({ exp: START / 1_000 + 90_000 }) })).toEqual(['lifetime-cut']);
  expect(warningsOf({ expires_in: 86_400 })).toEqual([]);
  expect(warningsOf({}, { settings: { tokenLifetimeSeconds: 7_200, maxLifetimeSeconds: 3_600 } })).toEqual([]);
});

it.each<[Settings, Members, string]>([
  [{ assumedLifetimeSeconds: 60 }, {}, 'assumed 60'],
  [{ tokenLifetimeSeconds: 1_800 }, {}, 'configured 1800'],
  [{ tokenLifetimeSeconds: 7_200, maxLifetimeSeconds: 3_600 }, {}, 'configured 3600'],
  [{ tokenLifetimeSeconds: 0 }, {}, 'by the settings the token had expired'],
  [{}, { expires_in: 315_360_000 }, 'response 86400'],
  [{ response: { lifetimeMember: 'meta.lasts' } }, { expires_in: 60, meta: { lasts: '3600' } }, 'response 3600'],
  [{ response: { lifetimeMember: 'meta.ttl_ms' } }, { meta: { ttl_ms: 3_600_000 } }, 'response 3600'],
  [{ response: { lifetimeUnit: 'milliseconds' } }, { expires: 3_600_000, expiresInMs: '3600000' }, 'response 3600'],
  [{ response: { lifetimeUnit: 'milliseconds' } }, { expires_in: 1_500_000_000 }, 'response 86400'],
  ...[undefined, null, 'soon'].map((lasts): [Settings, Members, string] => [
    { response: { lifetimeMember: 'lasts' }, tokenLifetimeSeconds: 60 },
    { lasts, expires_in: 60 },
    'response.lifetimeMember names',
  ]),
])('the settings %j count for %j', (settings, members, told) => {
  expect(expiryOf(members, { settings })).toBe(told);
});

describe('the expiry of a JWT', () => {
  const exp = START / 1_000 + 1_800;
  const header = base64url('{"alg":"RS256"}');
  const claims = base64url(JSON.stringify({ exp }));

  it.each<[string, unknown, string]>([
    ['is in seconds', { exp: exp + 0.5, name: 'Zoë' }, 'jwt 1800.5'],
    ['is in milliseconds from 10¹² on', { exp: exp * 1_000 }, 'jwt 1800'],
    ['is in seconds below', { exp: 1e12 - 1 }, 'jwt 86400'],
    ['has passed', { exp: exp - 1_800 }, 'by its own `exp` (JWT) the token had expired'],
    ['may be missing', {}, 'assumed 300'],
    // @see lcobucci/jwt#604, auth0/angular2-jwt#597
    ['may be a text', { exp: `${exp}` }, 'jwt 1800'],
    ['may be a date', { exp: new Date(exp * 1_000).toISOString() }, 'jwt 1800'],
    ['is no date without a zone', { exp: '2026-01-01T00:30:00' }, 'assumed 300'],
    ['is no length', { exp: '1800' }, 'assumed 300'],
    ['is no word', { exp: 'soon' }, 'assumed 300'],
  ])('%s', (_, told, expiry) => {
    expect(expiryOf({ access_token: jwt(told) })).toBe(expiry);
  });

  it('is never later than its life time after the request, whatever the clocks are', () => {
    const ahead = exp + 3_600;
    expect(expiryOf({ access_token: jwt({ iat: ahead - 300, exp: ahead }) })).toBe('jwt 300');
    expect(expiryOf({ access_token: jwt({ iat: exp - 3_600, exp }) })).toBe('jwt 1800');
    expect(expiryOf({ access_token: jwt({ iat: exp, exp }) })).toBe('jwt 1800');
  });

  it('counts when it is the earliest', () => {
    const token = jwt({ exp });
    expect(expiryOf({ access_token: token, expires_in: 3_600 })).toBe('jwt 1800');
    expect(expiryOf({ access_token: token, expires_in: 60 })).toBe('response 60');
  });

  /** @see Azure/azure-sdk-for-java#6949, Azure/azure-sdk-for-python#9393 */
  it('counts beside an expiry that cannot be read', () => {
    const expires_on = '1/1/2026 12:30:00 AM +00:00';
    expect(expiryOf({ access_token: jwt({ exp }), expires_on })).toBe('jwt 1800');
    expect(expiryOf({ access_token: jwt({}), expires_on })).toBe('`expires_on` cannot be read');
  });

  it('is found with any characters of base64url, and is not endless', () => {
    const token = jwt({ '~~~': '???', '~~': '>>>', exp }, { alg: 'RS256', kid: '~~~???' });
    expect(token).toMatch(/-.*_/);
    expect(expiryOf({ access_token: token })).toBe('jwt 1800');
    expect(expiryOf({ access_token: `${header}.${base64url('{"exp":1e999}')}.s` })).toBe('assumed 300');
  });

  it.each([
    ['has no signature', `${header}.${claims}`],
    ['has four parts', `${header}.${claims}.s.s`],
    ['has no header', `.${claims}.s`],
    ['names no algorithm', jwt({ exp }, { typ: 'JWT' })],
    ['names an algorithm that is no text', jwt({ exp }, { alg: 256 })],
    ['has claims that are no object', jwt(null)],
    ['has claims that are no base64', `${header}.{exp:${exp}}.s`],
  ])('is not looked for in a text that %s', (_, token) => {
    expect(expiryOf({ access_token: token })).toBe('assumed 300');
  });
});
