import { type Answer, bytes, jwt, RECEIVED_AFTER_MS } from './answer.ts';

/** A success without a usable token. Every value in it holds `LEAK`, so that one which gets out is noticed. */
export interface BadAnswer extends Answer {
  /** A part of the problem's detail. */
  readonly says: string;
}

/** Every bad answer, with moments that fit a request that started at `at`. */
export function badAnswers(at: number): readonly BadAnswer[] {
  return [...bodies(), ...tokens(), ...contradictions(), ...expiries(at), ...mismatches()];
}

const TOKEN = 'LEAK-4f9Kq2ZxV7mN1bR8';

const PLACE = 'Check the service';

function bodies(): readonly BadAnswer[] {
  const json = JSON.stringify({ access_token: TOKEN, expires_in: 3600 });
  return [
    { name: 'nothing', body: '', says: PLACE },
    { name: 'white space', body: ' \r\n', says: 'empty' },
    { name: '204', status: 204, type: null, body: '', says: '(204) is unusable: its body is empty' },
    {
      name: 'HTML',
      type: 'text/html; charset=utf-8',
      body: '<html><title>LEAK</title></html>',
      says: 'its content type is not',
    },
    { name: 'HTML as JSON', body: '<!doctype html><p>LEAK</p>', says: 'not JSON, or is cut off' },
    { name: 'HTML as text/plain', type: 'text/plain', body: '<html>LEAK1234567890</html>', says: 'does not look like' },
    {
      name: 'HTML without a content type',
      type: null,
      body: '<html>LEAK1234567890</html>',
      says: 'does not look like',
    },
    { name: 'JSON as HTML', type: 'text/html', body: json, says: 'its content type is not' },
    { name: 'JSON as an image', type: 'image/png', body: json, says: 'its content type is not' },
    { name: 'JSON of a type that tells a secret', type: 'leak/leak', body: json, says: 'its content type is not' },
    { name: 'XML', type: 'application/xml', body: `<token>${TOKEN}</token>`, says: 'its content type is not' },
    { name: 'truncated JSON', body: json.slice(0, -4), says: 'not JSON, or is cut off' },
    { name: 'JSON that begins well', body: `${json}LEAK`, says: 'not JSON, or is cut off' },
    { name: 'NaN', body: `{"access_token":"${TOKEN}","expires_in":NaN}`, says: 'not JSON, or is cut off' },
    { name: 'not UTF-8', body: bytes('{"access_token":"LEAK', [0xff, 0xfe], '"}'), says: 'not UTF-8' },
    { name: 'UTF-16', body: Buffer.from(`\ufeff${json}`, 'utf16le'), says: 'not UTF-8' },
    { name: 'a word', type: 'text/plain', body: 'LEAK', says: 'tokenMember to `$`' },
    { name: 'a sentence', type: 'text/plain', body: 'LEAK 4f9Kq2ZxV7mN1bR8', says: 'does not look like' },
    { name: 'a failure', type: 'text/plain', body: 'LEAK_invalid_client_1234', says: 'does not look like' },
    { name: 'digits', type: 'text/plain', body: '1234567890123456', says: 'does not look like' },
    { name: 'a JSON sentence', body: '"LEAK is no token"', says: 'does not look like' },
    { name: 'JSON null', body: 'null', says: 'none of its members' },
    { name: 'JSON number', body: '1234567890', says: 'none of its members' },
    { name: 'an empty object', body: '{}', says: 'none of its members' },
    { name: 'an empty array', body: '[]', says: 'none of its members' },
    { name: 'an array of two', body: `[${json},${json}]`, says: 'none of its members' },
    { name: 'error', body: '{"error":"LEAK"}', says: 'it reports an error' },
    {
      name: 'a known error',
      body: '{"error":"invalid_client"}',
      says: 'it reports invalid_client, although its status says success',
    },
    {
      name: 'error beside a token',
      body: `{"access_token":"${TOKEN}","error":{"code":"LEAK"}}`,
      says: 'it reports an error',
    },
    {
      name: 'errors beside a token',
      body: `{"access_token":"${TOKEN}","errors":["LEAK"]}`,
      says: 'it reports an error',
    },
    { name: 'an error in an array', body: '[{"error":"LEAK"}]', says: 'it reports an error' },
  ];
}

function tokens(): readonly BadAnswer[] {
  const withToken = (token: unknown) => JSON.stringify({ access_token: token, expires_in: 3600 });
  return [
    { name: 'no known name', body: JSON.stringify({ acmeKey: TOKEN }), says: 'say in response.tokenMember' },
    { name: 'only a refresh token', body: JSON.stringify({ refresh_token: TOKEN }), says: 'none of its members' },
    {
      name: 'only a refresh token object',
      body: JSON.stringify({ refreshToken: { token: TOKEN } }),
      says: 'none of its members',
    },
    {
      name: 'only a refresh token object under a name that is too long to be read',
      body: JSON.stringify({ [`refresh-${'x'.repeat(64)}`]: { token: TOKEN } }),
      says: 'none of its members',
    },
    {
      name: 'a token three levels down',
      body: JSON.stringify({ a: { b: { c: { token: TOKEN } } } }),
      says: 'none of its members',
    },
    { name: 'a token behind 1 000 members', body: crowd(1_000), says: 'none of its members' },
    { name: 'access as a permission', body: '{"access":"LEAKED"}', says: 'none of its members' },
    {
      name: 'token null',
      body: withToken(null),
      says: 'is null. If another one is the token, name it in response.tokenMember.',
    },
    {
      name: 'token a number',
      body: withToken(12345678),
      says: '`access_token` should be the token but is not a string',
    },
    { name: 'token true', body: withToken(true), says: 'is not a string' },
    { name: 'token an object', body: withToken({ secret: TOKEN }), says: 'is not a string' },
    { name: 'token an array', body: withToken([TOKEN]), says: 'is not a string' },
    { name: 'token empty', body: withToken(''), says: '`access_token` should be the token but is empty' },
    { name: 'only Bearer', body: withToken('Bearer '), says: 'is empty' },
    { name: 'token with a line break', body: withToken(`${TOKEN}\r\nx: LEAK`), says: 'control character' },
    { name: 'token with a trailing line break', body: withToken(`${TOKEN}\n`), says: 'control character' },
    { name: 'token with NUL', body: withToken(`LEAK\u0000`), says: 'control character' },
    { name: 'token with a space', body: withToken('LEAK LEAK'), says: 'a space' },
    { name: 'token beyond ASCII', body: withToken('LEAK-é'), says: 'beyond ASCII' },
    { name: 'token of 64 KiB and one', body: withToken('LEAK'.repeat(16_384).concat('.')), says: 'longer than 64 KiB' },
    {
      name: 'form with an unescaped plus',
      type: 'application/x-www-form-urlencoded',
      body: 'access_token=LEAK+1',
      says: 'a space',
    },
  ];
}

function crowd(members: number): string {
  const others = Object.fromEntries(Array.from({ length: members }, (_, n) => [`member${n}`, n]));
  return JSON.stringify({ ...others, access_token: TOKEN });
}

function contradictions(): readonly BadAnswer[] {
  return [
    {
      name: 'two spellings',
      body: { access_token: 'LEAK-1', accessToken: 'LEAK-2' },
      says: '`access_token` and `accessToken`',
    },
    { name: 'two names', body: { token: 'LEAK-1', access_token: 'LEAK-2' }, says: '`access_token` and `token`' },
    { name: 'jwt beside id_token', body: { id_token: 'LEAK-1', jwt: 'LEAK-2' }, says: '`id_token` and `jwt`' },
    {
      name: 'two spellings of a session',
      body: { sessionId: 'LEAK-1', session_id: 'LEAK-2' },
      says: 'different values',
    },
    { name: 'two levels', body: { token: 'LEAK-1', data: { token: 'LEAK-2' } }, says: '`token` and `data.token`' },
    {
      name: 'an unknown place',
      body: { token: 'LEAK-1', 'LEAK/3': { token: 'LEAK-2' } },
      says: '`token` and `*.token`',
    },
    { name: 'one of them unusable', body: { access_token: 'LEAK 1', token: 'LEAK-2' }, says: 'different values' },
  ].map(({ body, ...one }) => ({ ...one, name: `contradiction: ${one.name}`, body: JSON.stringify(body) }));
}

function expiries(at: number): readonly BadAnswer[] {
  const past = new Date(at - 60_000);
  const over = 'had expired when it arrived';
  const unreadable = 'cannot be read; name another in response.lifetimeMember';
  const members: readonly (readonly [Record<string, unknown>, string])[] = [
    [{ expires_in: 0 }, over],
    [{ expires_in: -1 }, over],
    [{ expires_in: '-3600' }, over],
    [{ expires_in: 0.1 }, over],
    [{ expires_in: 3600, ttl: 0 }, over],
    [{ expires_at: past.getTime() / 1_000 }, over],
    [{ expires_at: past.getTime() }, over],
    [{ expires_at: past.getTime() }, 'by `expires_at` the token'],
    [{ expires_at: past.getTime() }, 'compare the service'],
    [{ expires_at: at + RECEIVED_AFTER_MS }, over],
    [{ expires_at: past.toISOString() }, over],
    [{ expires_at: '2001-09-09T01:46:40Z' }, over],
    [{ expires: '0:00:00' }, over],
    [{ expires_in: 'NaN' }, unreadable],
    [{ expires_in: 'LEAK soon' }, unreadable],
    [{ expires_in: '1e3' }, unreadable],
    [{ expires_in: '3,600' }, unreadable],
    [{ expires_in: true }, unreadable],
    [{ expires_in: {} }, unreadable],
    [{ expires_in: [3600] }, unreadable],
    [{ expires_at: '2026-13-45T00:00:00Z' }, unreadable],
    [{ expires: '09/14/2026' }, unreadable],
    [{ '.expires': new Date(at + 3_600_000).toUTCString() }, unreadable],
    [{ expires: `/Date(${at + 3_600_000})/` }, unreadable],
    [{ expires: '01:00:00' }, unreadable],
    [{ expires_in: '1h' }, unreadable],
    [{ lifetime: 'PT1H' }, unreadable],
    [{ expires_in: '9'.repeat(65) }, unreadable],
  ];
  const token = jwt({ sub: 'LEAK', exp: at / 1_000 - 60 });
  return [
    ...members.map(([told, says]): BadAnswer => {
      const body = JSON.stringify({ access_token: TOKEN, ...told });
      return { name: `life time ${JSON.stringify(told).slice(0, 60)}`, body, says };
    }),
    { name: 'a life time beyond all numbers', body: `{"token":"${TOKEN}","expires_in":1e999}`, says: unreadable },
    {
      name: 'a life time of the settings that has passed',
      body: JSON.stringify({ token: TOKEN }),
      settings: { tokenLifetimeSeconds: 0 },
      says: 'by the settings the token',
    },
    { name: 'a JWT that has expired', body: JSON.stringify({ token, expires_in: 3600 }), says: 'its own `exp` (JWT)' },
    {
      name: 'a header whose time has passed',
      headers: { 'x-token-ttl': '0' },
      body: JSON.stringify({ token: TOKEN }),
      says: '`x-token-ttl`',
    },
  ];
}

/** Settings that the answer does not fit. */
function mismatches(): readonly BadAnswer[] {
  const body = JSON.stringify({ access_token: TOKEN, expires_in: 3600, data: { token: 7, ttl: null, days: 'LEAK' } });
  return [
    { name: 'tokenMember absent', settings: { response: { tokenMember: 'data.key' } }, says: 'response.tokenMember' },
    {
      name: 'tokenMember in another case',
      settings: { response: { tokenMember: 'Access_Token' } },
      says: 'response.tokenMember',
    },
    {
      name: 'tokenMember no text',
      settings: { response: { tokenMember: 'data.token' } },
      says: '`data.token` should be',
    },
    {
      name: 'tokenMember in a prototype',
      settings: { response: { tokenMember: '__proto__.toString' } },
      says: 'response.tokenMember',
    },
    {
      name: 'lifetimeMember absent',
      settings: { response: { lifetimeMember: 'data.life' } },
      says: 'response.lifetimeMember',
    },
    {
      name: 'lifetimeMember null',
      settings: { response: { lifetimeMember: 'data.ttl' } },
      says: 'response.lifetimeMember',
    },
    {
      name: 'lifetimeMember unreadable',
      settings: { response: { lifetimeMember: 'data.days' }, tokenLifetimeSeconds: 60 },
      says: 'response.lifetimeMember',
    },
  ].map((one) => ({ ...one, body }));
}
