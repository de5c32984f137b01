import { type Answer, bytes, jwt } from './answer.ts';

/** An answer that holds a token, and exactly what is to be read from it. */
export interface GoodAnswer extends Answer {
  readonly token: string;
  /** Milliseconds from the start of the request until the token expires. */
  readonly lives: number;
  readonly source: 'response' | 'jwt' | 'configured' | 'assumed';
  /** `Bearer` when left out. */
  readonly tokenType?: string;
  readonly scope?: string;
  readonly passThrough?: Readonly<Record<string, unknown>>;
}

/** Every good answer, with moments that fit a request that started at `at`: epoch milliseconds, a whole second. */
export function goodAnswers(at: number): readonly GoodAnswer[] {
  return [
    ...names(),
    ...nested(),
    ...twoMembers(),
    ...lengths(),
    ...moments(at),
    ...wrongClocks(at),
    ...jwts(at),
    ...untold(),
    ...contentTypes(at),
    ...extras(),
    ...settings(),
  ];
}

const TOKEN = 'tok-4f9Kq2ZxV7mN1bR8';
const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const HALF_AN_HOUR = HOUR / 2;

/** Every name, with the life time of RFC 6749. */
function names(): readonly GoodAnswer[] {
  const spellings = [
    ...['access_token', 'accessToken', 'AccessToken', 'access-token', 'ACCESS_TOKEN', 'accesstoken', 'Access.Token'],
    ...['token', 'Token', 'id_token', 'idToken', 'jwt', 'JWT', 'jwt_token', 'jwtToken', 'bearer_token', 'bearerToken'],
    ...['authToken', 'auth_token', 'authenticationToken', 'apiToken', 'api_token', 'securityToken', 'serviceToken'],
    ...['access', 'authorization', 'bearer', 'sessionToken', 'session_token', 'sessionId', 'session_id', 'ticket'],
  ];
  return spellings.map((name) => ({
    name: `${name} and expires_in`,
    body: JSON.stringify({ [name]: TOKEN, expires_in: 3600 }),
    token: TOKEN,
    lives: HOUR,
    source: 'response',
  }));
}

function nested(): readonly GoodAnswer[] {
  const inObject = ['data', 'result', 'response', 'payload', 'body', 'acme'].map((name) => ({
    name: `token inside ${name}`,
    body: JSON.stringify({ status: 'ok', [name]: { token: TOKEN, expires_in: 1800 } }),
  }));
  const others = [
    { name: 'two levels down', body: { data: { attributes: { accessToken: TOKEN, expiresIn: 1800 } } } },
    { name: 'life time around the token', body: { expiresIn: 1800, data: { session: { token: TOKEN } } } },
    { name: 'a token object', body: { token: { value: TOKEN, expires_in: 1800 } } },
    { name: 'an access token object', body: { accessToken: { token: TOKEN, expiresIn: 1800 } } },
    {
      name: 'access and refresh token objects',
      body: { tokens: { access: { token: TOKEN, ttl: 1800 }, refresh: { token: 'refresh-8Jw2', ttl: 9 } } },
    },
    {
      name: 'an authentication result',
      body: {
        AuthenticationResult: { AccessToken: TOKEN, ExpiresIn: 1800, IdToken: 'id-77aQ', RefreshToken: 'r-5hT' },
      },
    },
    { name: 'an access object beside an id_token', body: { access: { token: TOKEN, ttl: 1800 }, id_token: 'id-77aQ' } },
    { name: 'array of one', body: [{ access_token: TOKEN, expires_in: 1800 }] },
    { name: 'array of one inside', body: { data: [{ access_token: TOKEN, expires_in: 1800 }] } },
  ].map(({ name, body }) => ({ name, body: JSON.stringify(body) }));
  return [...inObject, ...others].map((one) => ({ ...one, token: TOKEN, lives: HALF_AN_HOUR, source: 'response' }));
}

/** Members that stand beside each other without contradicting each other. */
function twoMembers(): readonly GoodAnswer[] {
  return [
    {
      name: 'OpenID Connect: id_token and refresh_token beside access_token',
      body: { id_token: 'id-77aQ', refresh_token: 'r-5hT', access_token: TOKEN, token_type: 'bearer' },
    },
    { name: 'session beside token', body: { session_id: 's-19', token: TOKEN } },
    { name: 'ticket beside session', body: { ticket: 'ticket-4f9K-2ZxV', sessionId: TOKEN } },
    { name: 'the same value under two names', body: { token: TOKEN, access_token: TOKEN } },
    { name: 'the same value with and without Bearer', body: { authorization: `Bearer ${TOKEN}`, token: TOKEN } },
    { name: 'the same value at two levels', body: { access_token: TOKEN, data: { accessToken: TOKEN } } },
    { name: 'access as a permission', body: { token: TOKEN, access: 'granted' } },
    { name: 'an empty access_token beside token', body: { access_token: '', token: TOKEN } },
    { name: 'a null access_token beside token', body: { access_token: null, token: TOKEN } },
    { name: 'a count of tokens', body: { token: 3, access_token: TOKEN } },
    { name: 'short Django names', body: { refresh: 'refresh-8Jw2-9sK3-77aQ', access: TOKEN } },
  ].map(({ name, body }) => ({ name, body: JSON.stringify(body), token: TOKEN, lives: 300_000, source: 'assumed' }));
}

/** Members and headers that tell a length of time, counted from the start of the request. */
function lengths(): readonly GoodAnswer[] {
  const members: readonly (readonly [Record<string, unknown>, number])[] = [
    [{ expires_in: 3599 }, 3_599_000],
    [{ expires_in: '3599' }, 3_599_000],
    [{ expires_in: ' 3600.5 ' }, 3_600_500],
    [{ expires_in: 0.7505, ttl: 0.9 }, 750],
    [{ expiresIn: 1800 }, HALF_AN_HOUR],
    [{ ExpiresIn: '1800' }, HALF_AN_HOUR],
    [{ 'expires-in': 1800 }, HALF_AN_HOUR],
    [{ expire_in: 1800 }, HALF_AN_HOUR],
    [{ expires: 1800 }, HALF_AN_HOUR],
    [{ expiry: 1800 }, HALF_AN_HOUR],
    [{ expiration: 1800 }, HALF_AN_HOUR],
    [{ ttl: 1800 }, HALF_AN_HOUR],
    [{ validFor: 1800 }, HALF_AN_HOUR],
    [{ lifetime: 1800 }, HALF_AN_HOUR],
    [{ maxAge: 1800 }, HALF_AN_HOUR],
    [{ seconds_to_expire: 1800 }, HALF_AN_HOUR],
    [{ accessTokenExpiresIn: 1800 }, HALF_AN_HOUR],
    [{ token_ttl: 1800 }, HALF_AN_HOUR],
    [{ expiresInMs: 1_800_000 }, HALF_AN_HOUR],
    [{ expires_in_seconds: 1800 }, HALF_AN_HOUR],
    [{ expiresInMinutes: 30 }, HALF_AN_HOUR],
    [{ expires_at: 1800 }, HALF_AN_HOUR],
    [{ expires_in: '0:00:30' }, HALF_AN_HOUR],
    [{ expires_in: '0:12:00' }, 12 * HOUR],
    [{ expires_in: '1:00:00' }, DAY],
    [{ expires_in: 315_360_000 }, DAY],
    [{ expires_in: 3_153_600_000 }, DAY],
    [{ expires_in: '9223372036854775807' }, DAY],
    [{ expires_in: 3600, ttl: 1800, expires: '0:00:45' }, HALF_AN_HOUR],
    [{ expires_in: 1800, expires: 'on Tuesday' }, HALF_AN_HOUR],
    [{ expires_in: 1800, '.expires': 'Sat, 21 Nov 2026 12:30:00 GMT' }, HALF_AN_HOUR],
    [{ expires_in: 1800, refresh_expires_in: 0, ext_expires_in: 60 }, HALF_AN_HOUR],
    [{ expires_in: 1800, expires_at: null, ttl: '', expires: false }, HALF_AN_HOUR],
  ];
  const headers: readonly (readonly [Record<string, string>, number])[] = [
    [{ 'expires-in': '1800' }, HALF_AN_HOUR],
    [{ 'x-expires-in': '1800' }, HALF_AN_HOUR],
    [{ 'x-token-ttl': '1800' }, HALF_AN_HOUR],
    [{ 'x-auth-token-expires': '0:00:30' }, HALF_AN_HOUR],
  ];
  return [
    ...members.map(([told, lives]): GoodAnswer => {
      const body = JSON.stringify({ access_token: TOKEN, ...told });
      return { name: `length ${JSON.stringify(told)}`, body, token: TOKEN, lives, source: 'response' };
    }),
    ...headers.map(([told, lives]): GoodAnswer => {
      const body = JSON.stringify({ access_token: TOKEN });
      return { name: `header ${JSON.stringify(told)}`, body, headers: told, token: TOKEN, lives, source: 'response' };
    }),
  ];
}

/** Members and headers that tell a moment; in an hour from the start of the request. */
function moments(at: number): readonly GoodAnswer[] {
  const time = at + HOUR;
  const iso = new Date(time).toISOString();
  const plain = iso.slice(0, 19);
  const east = new Date(time + 2 * HOUR).toISOString().slice(0, 19);
  const members: Readonly<Record<string, Record<string, unknown>>> = {
    'epoch seconds': { expires_at: time / 1_000 },
    'epoch seconds as text': { expires_on: String(time / 1_000) },
    'epoch milliseconds': { expiresAt: time },
    'epoch milliseconds as text': { expirationTime: String(time) },
    'epoch seconds with a fraction': { expiration: `${time / 1_000}.0` },
    'epoch seconds in expires_in': { expires_in: time / 1_000 },
    'epoch milliseconds in expires': { expires: time },
    'epoch in validUntil': { validUntil: time / 1_000 },
    'epoch in exp': { exp: time / 1_000 },
    'ISO 8601': { expires_at: iso },
    'ISO 8601 without a fraction': { expiryDate: `${plain}Z` },
    'ISO 8601 with seven digits': { expires: `${plain}.0000000Z` },
    'ISO 8601 with an offset': { expiresAt: `${east}+02:00` },
    'ISO 8601 with an offset without colon': { expiresAt: `${east}+0200` },
    'ISO 8601 without a zone': { accessTokenExpiresAt: plain },
    'ISO 8601 with a space': { expires_at: `${plain.replace('T', ' ')}Z` },
    'the earliest of several': { expires_in: 7200, expires_at: iso, expires: time + 1 },
  };
  const inHeader: Readonly<Record<string, Record<string, string>>> = {
    'x-expires-at': { 'x-expires-at': iso },
    'x-token-expiry': { 'x-token-expiry': String(time / 1_000) },
    'x-expires-at beside a date that cannot be read': { 'x-expires-at': iso, date: 'soon' },
    'a caching header beside it': { 'x-token-expires': iso, expires: new Date(at).toUTCString() },
  };
  return [
    ...Object.entries(members).map(([name, told]): GoodAnswer => {
      const body = JSON.stringify({ access_token: TOKEN, ...told });
      return { name: `moment: ${name}`, body, token: TOKEN, lives: HOUR, source: 'response' };
    }),
    ...Object.entries(inHeader).map(([name, headers]): GoodAnswer => {
      const body = JSON.stringify({ access_token: TOKEN });
      return { name: `moment in ${name}`, headers, body, token: TOKEN, lives: HOUR, source: 'response' };
    }),
  ];
}

/** A service whose clock is off, as the `date` of its answer shows, hands out a token that lives for an hour. */
function wrongClocks(at: number): readonly GoodAnswer[] {
  return [-HOUR, -600_000, 600_000, HOUR].flatMap((offMs) => {
    const time = at + offMs + HOUR;
    const signed = jwt({ exp: time / 1_000 });
    const told: Readonly<Record<string, Record<string, unknown>>> = {
      'epoch seconds': { token: TOKEN, expires_at: time / 1_000 },
      'epoch milliseconds': { token: TOKEN, expires: time },
      'ISO 8601': { token: TOKEN, expiresAt: new Date(time).toISOString() },
      'a JWT': { token: signed },
      'a length of time': { token: TOKEN, expires_in: 3_600 },
    };
    return Object.entries(told).map(
      ([name, body]): GoodAnswer => ({
        name: `${name} by a clock that is ${offMs / 60_000} minutes off`,
        headers: { date: new Date(at + offMs).toUTCString() },
        body: JSON.stringify(body),
        token: body.token === signed ? signed : TOKEN,
        lives: HOUR,
        source: body.token === signed ? 'jwt' : 'response',
      }),
    );
  });
}

/** Tokens that tell their own expiry. */
function jwts(at: number): readonly GoodAnswer[] {
  const seconds = at / 1_000;
  const token = jwt({ sub: 'acme', name: 'Zoë', iat: seconds, exp: seconds + 3_600 });
  const endless = jwt({ sub: 'acme' });
  const inMilliseconds = jwt({ exp: at + HOUR });
  const longer = `${token}.bW9yZQ`;
  const unsigned = jwt({ exp: seconds + 3_600 }).replace(/^[^.]*/, 'e30');
  const encrypted = 'eyJhbGciOiJSU0EtT0FFUCJ9.a2V5LTAx.aXYtMDE.Y2lwaGVydGV4dA.dGFn';
  return [
    { name: 'JWT exp', body: { token }, token, lives: HOUR, source: 'jwt' as const },
    {
      name: 'JWT exp before expires_in',
      body: { token, expires_in: 7200 },
      token,
      lives: HOUR,
      source: 'jwt' as const,
    },
    {
      name: 'expires_in before JWT exp',
      body: { token, expires_in: 60 },
      token,
      lives: 60_000,
      source: 'response' as const,
    },
    { name: 'JWT without exp', body: { token: endless }, token: endless, lives: 300_000, source: 'assumed' as const },
    { name: 'encrypted JWT', body: { token: encrypted }, token: encrypted, lives: 300_000, source: 'assumed' as const },
    {
      name: 'JWT exp in milliseconds',
      body: { token: inMilliseconds },
      token: inMilliseconds,
      lives: HOUR,
      source: 'jwt' as const,
    },
    {
      name: 'JWT with a part too many',
      body: { token: longer },
      token: longer,
      lives: 300_000,
      source: 'assumed' as const,
    },
    {
      name: 'three parts without an algorithm',
      body: { token: unsigned },
      token: unsigned,
      lives: 300_000,
      source: 'assumed' as const,
    },
  ].map(({ body, ...one }) => ({ ...one, body: JSON.stringify(body) }));
}

/** Answers that tell no expiry. */
function untold(): readonly GoodAnswer[] {
  const body = JSON.stringify({ access_token: TOKEN, expires_in: null });
  return [
    { name: 'no life time', body, token: TOKEN, lives: 300_000, source: 'assumed' },
    {
      name: 'a life time that is false',
      body: JSON.stringify({ access_token: TOKEN, expires: false }),
      token: TOKEN,
      lives: 300_000,
      source: 'assumed',
    },
    {
      name: 'no life time, another one assumed',
      body,
      settings: { assumedLifetimeSeconds: 60 },
      token: TOKEN,
      lives: 60_000,
      source: 'assumed',
    },
    {
      name: 'no life time, one configured',
      body,
      settings: { tokenLifetimeSeconds: 1800 },
      token: TOKEN,
      lives: HALF_AN_HOUR,
      source: 'configured',
    },
    {
      name: 'a configured life time beyond the longest',
      body,
      settings: { tokenLifetimeSeconds: 7200, maxLifetimeSeconds: 3600 },
      token: TOKEN,
      lives: HOUR,
      source: 'configured',
    },
    {
      name: 'an unreadable life time, one configured',
      body: JSON.stringify({ access_token: TOKEN, expires: 'on Tuesday' }),
      settings: { tokenLifetimeSeconds: 1800 },
      token: TOKEN,
      lives: HALF_AN_HOUR,
      source: 'configured',
    },
    {
      name: 'only caching headers',
      headers: { 'cache-control': 'max-age=60', expires: 'Thu, 01 Jan 1970 00:00:00 GMT', pragma: 'no-cache' },
      body,
      token: TOKEN,
      lives: 300_000,
      source: 'assumed',
    },
  ];
}

function contentTypes(at: number): readonly GoodAnswer[] {
  const signed = jwt({ exp: at / 1_000 + 3_600 });
  const json = JSON.stringify({ access_token: TOKEN, expires_in: 3600 });
  const hour = { token: TOKEN, lives: HOUR, source: 'response' } as const;
  const assumed = { token: TOKEN, lives: 300_000, source: 'assumed' } as const;
  const signedHour = { token: signed, lives: HOUR, source: 'jwt' } as const;
  return [
    { name: 'JSON with a character set', type: 'Application/JSON; charset=UTF-8', body: json, ...hour },
    { name: 'JSON of another kind', type: 'application/vnd.acme.token+json', body: json, ...hour },
    { name: 'JSON as text/json', type: 'text/json', body: json, ...hour },
    { name: 'JSON as application/x-json', type: 'application/x-json', body: json, ...hour },
    { name: 'JSON as text/plain', type: 'text/plain', body: json, ...hour },
    { name: 'JSON without a content type', type: null, body: json, ...hour },
    { name: 'JSON with identity encoding', headers: { 'content-encoding': 'identity' }, body: json, ...hour },
    { name: 'JSON with an encoding that says nothing', headers: { 'content-encoding': '' }, body: json, ...hour },
    { name: 'JSON with another status of success', status: 299, body: json, ...hour },
    { name: 'JSON of the greatest size that is read', body: json.padEnd(256 * 1_024), ...hour },
    { name: 'JSON after a byte order mark', body: bytes([0xef, 0xbb, 0xbf], json), ...hour },
    { name: 'JSON among white space', body: `\r\n  ${json}\n`, ...hour },
    {
      name: 'a form',
      type: 'application/x-www-form-urlencoded',
      body: `access_token=${TOKEN}&expires_in=3600&scope=a%20b`,
      ...hour,
      scope: 'a b',
    },
    {
      name: 'a form that begins with what only a form holds, and ends as JSON does',
      type: 'application/x-www-form-urlencoded',
      body: `%24id=1&access_token=${TOKEN}&expires_in=3600&rest={}`,
      ...hour,
    },
    {
      name: 'a form as text/plain',
      type: 'text/plain; charset=utf-8',
      body: `access_token=${TOKEN}&expires=3600`,
      ...hour,
    },
    { name: 'a JSON text that is a JWT', body: JSON.stringify(signed), ...signedHour },
    { name: 'a JSON text that is an opaque word', body: JSON.stringify(TOKEN), ...assumed },
    { name: 'a raw JWT as application/jwt', type: 'application/jwt', body: signed, ...signedHour },
    { name: 'a raw JWT as application/at+jwt', type: 'application/at+jwt', body: signed, ...signedHour },
    { name: 'a raw JWT as text/plain', type: 'text/plain', body: `${signed}\n`, ...signedHour },
    { name: 'a raw JWT as JSON', body: signed, ...signedHour },
    { name: 'a raw JWT after Bearer', type: 'text/plain', body: `Bearer ${signed}`, ...signedHour },
    { name: 'an opaque word as text/plain', type: 'text/plain', body: `${TOKEN}\r\n`, ...assumed },
    {
      name: 'padded base64 as text/plain',
      type: 'text/plain',
      body: 'c29tZS1vcGFxdWUtdG9rZW4=',
      ...assumed,
      token: 'c29tZS1vcGFxdWUtdG9rZW4=',
    },
    {
      name: 'an opaque word with its life time in a header',
      type: null,
      headers: { 'expires-in': '3600' },
      body: TOKEN,
      ...hour,
    },
    { name: '201', status: 201, body: json, ...hour },
  ];
}

function extras(): readonly GoodAnswer[] {
  const long = 'aZ3-'.repeat(4_096);
  const hour = { token: TOKEN, lives: HOUR, source: 'response' } as const;
  const withToken = (more: Record<string, unknown>) =>
    JSON.stringify({ access_token: TOKEN, expires_in: 3600, ...more });
  return [
    { name: 'a token of 16 kB', body: withToken({ access_token: long }), ...hour, token: long },
    { name: 'every visible character', body: withToken({ access_token: VISIBLE }), ...hour, token: VISIBLE },
    { name: 'Bearer before the token', body: withToken({ access_token: `Bearer ${TOKEN}` }), ...hour },
    { name: 'a member named __proto__', body: `{"__proto__":{"access_token":null},${withToken({}).slice(1)}`, ...hour },
    { name: 'error null', body: withToken({ error: null, error_description: null }), ...hour },
    { name: 'error empty', body: withToken({ error: '', errors: [] }), ...hour },
    { name: 'error zero', body: withToken({ error: 0, errors: '0', errcode: 0, errmsg: 'ok' }), ...hour },
    {
      name: '500 more members',
      body: withToken(Object.fromEntries(Array.from({ length: 500 }, (_, n) => [`m${n}`, n]))),
      ...hour,
    },
    {
      name: 'a list of scopes and a type',
      body: withToken({ scope: ['a', 'b'], token_type: 'bearer' }),
      ...hour,
      scope: 'a b',
    },
    {
      name: 'scope and type around the token',
      body: JSON.stringify({ data: JSON.parse(withToken({})), scope: 'a b', tokenType: 'BEARER' }),
      ...hour,
      scope: 'a b',
    },
    {
      name: 'scopes and a type around the token, and none beside it',
      body: JSON.stringify({
        data: JSON.parse(withToken({ scope: null, token_type: null })),
        scopes: ['a', 'b'],
        token_type: ' DPoP ',
      }),
      ...hour,
      scope: 'a b',
      tokenType: 'DPoP',
    },
    {
      name: 'a scope of the greatest length that is told',
      body: withToken({ scope: 'a'.repeat(4_096) }),
      ...hour,
      scope: 'a'.repeat(4_096),
    },
    { name: 'a scope that is too long', body: withToken({ scope: 'a'.repeat(4_097) }), ...hour },
    { name: 'a scope with a line break', body: withToken({ scope: 'a\nb' }), ...hour },
    { name: 'a scope that is no text', body: withToken({ scope: ['a', 1] }), ...hour },
    { name: 'a token type that is not Bearer', body: withToken({ token_type: 'DPoP' }), ...hour, tokenType: 'DPoP' },
    { name: 'a token type that is no word', body: withToken({ token_type: 'Bearer token' }), ...hour },
    { name: 'a token type that is not a text', body: withToken({ token_type: 7 }), ...hour },
  ];
}

const VISIBLE = Array.from({ length: 0x7e - 0x20 }, (_, n) => String.fromCharCode(0x21 + n)).join('');

function settings(): readonly GoodAnswer[] {
  const hour = { token: TOKEN, lives: HOUR, source: 'response' } as const;
  return [
    {
      name: 'tokenMember among tokens that contradict each other',
      body: JSON.stringify({ access_token: 'user-1', data: { bot: { token: TOKEN } }, expires_in: 3600 }),
      settings: { response: { tokenMember: 'data.bot.token' } },
      ...hour,
    },
    {
      name: 'tokenMember with an unusual name, deep down',
      body: JSON.stringify({ a: { b: { c: [{ 'x.y': TOKEN, ttl: 3600 }] } } }),
      settings: { response: { tokenMember: 'a.b.c.x.y' } },
      ...hour,
    },
    {
      name: 'tokenMember with the index of an array',
      body: JSON.stringify({ tokens: [{ is: 'other-1' }, { is: TOKEN }], ttl: 3600 }),
      settings: { response: { tokenMember: 'tokens.1.is' } },
      ...hour,
    },
    {
      name: 'tokenMember with an index of two digits',
      body: JSON.stringify({
        tokens: Array.from({ length: 12 }, (_, n) => ({ is: n === 11 ? TOKEN : `other-${n}` })),
        ttl: 3600,
      }),
      settings: { response: { tokenMember: 'tokens.11.is' } },
      ...hour,
    },
    {
      name: 'tokenMember with a number in a name, in an array of one',
      body: JSON.stringify({ tokens: [{ v1: { is: TOKEN } }], ttl: 3600 }),
      settings: { response: { tokenMember: 'tokens.v1.is' } },
      ...hour,
    },
    {
      name: 'tokenMember for the whole body',
      type: 'text/plain',
      body: 'short',
      settings: { response: { tokenMember: '$' } },
      token: 'short',
      lives: 300_000,
      source: 'assumed',
    },
    {
      name: 'lifetimeMember before others',
      body: JSON.stringify({ token: TOKEN, expires_in: 60, meta: { lasts: '3600' } }),
      headers: { 'expires-in': '60' },
      settings: { response: { lifetimeMember: 'meta.lasts' } },
      ...hour,
    },
    {
      name: 'lifetimeMember with a name that tells the unit',
      body: JSON.stringify({ token: TOKEN, meta: { ttl_minutes: 60 } }),
      settings: { response: { lifetimeMember: 'meta.ttl_minutes' } },
      ...hour,
    },
    {
      name: 'milliseconds',
      body: JSON.stringify({ token: TOKEN, expires: 3_600_000 }),
      settings: { response: { lifetimeUnit: 'milliseconds' } },
      ...hour,
    },
    {
      name: 'milliseconds as text, in a member of the settings',
      body: JSON.stringify({ token: TOKEN, lasts: '3600000' }),
      settings: { response: { lifetimeMember: 'lasts', lifetimeUnit: 'milliseconds' } },
      ...hour,
    },
    {
      name: 'more milliseconds than a day has',
      body: JSON.stringify({ token: TOKEN, expires_in: 1_500_000_000 }),
      settings: { response: { lifetimeUnit: 'milliseconds' } },
      ...hour,
      lives: DAY,
    },
    {
      name: 'passThrough',
      body: JSON.stringify({
        token: TOKEN,
        refresh_token: 'r-5hT',
        ttl: 3600,
        instance_url: 'https://acme.example.com',
        data: { limits: { perMinute: 60 }, copy: `is ${TOKEN}`, open: { password: 'p-1' } },
        long: 'a'.repeat(4_095),
        deep: [[[[[1]]]]],
      }),
      settings: {
        response: {
          passThrough: [
            'instance_url',
            'data.limits',
            'absent',
            'token',
            'refresh_token',
            'data.copy',
            'data.open',
            '$',
            ...['long', 'deep', 'deep.0'],
          ],
        },
      },
      ...hour,
      passThrough: { instance_url: 'https://acme.example.com', 'data.limits': { perMinute: 60 }, 'deep.0': [[[[1]]]] },
    },
  ];
}
