import { describe, expect, it } from 'vitest';
import { findingOfProblem } from '../../../../functions/broker/problem.ts';
import { START } from '../../../support/example.ts';
import { type Answer, bytesOf, jwt, problemOf, read, tokenOf } from './token-answers.ts';

const TOKEN = 'tok-4f9Kq2ZxV7mN1bR8';
const JSON_BODY = JSON.stringify({ access_token: TOKEN, expires_in: 3_600 });
const FORM = 'application/x-www-form-urlencoded';
const IN_HEADER = { response: { tokenHeader: 'X-Token' } };
const ALL_TOKEN = { response: { tokenMember: '$' } };
const OF_JAVA = Buffer.from(`\ufeff${JSON_BODY}`, 'utf16le').swap16();
const LATIN_1 = Buffer.from(`{"name":"Zoë","access_token":"${TOKEN}","expires_in":3600}`, 'latin1');
const AT = (tokenMember: string) => ({ response: { tokenMember } });
const SIGNED = jwt({ exp: START / 1_000 + 3_600 });

describe('a body that holds a token', () => {
  it.each<[string, Partial<Answer>]>([
    ['JSON', {}],
    ['JSON without a content type', { type: null }],
    ['JSON with another status of success', { status: 299 }],
    ['JSON of the greatest size that is read', { body: JSON_BODY.padEnd(256 * 1_024) }],
    ['JSON after a byte order mark', { body: Buffer.from(`\ufeff${JSON_BODY}`) }],
    ['JSON among white space', { body: `\r\n  ${JSON_BODY}\n` }],
    ['a form that ends as JSON does', { type: FORM, body: `%24id=1&access_token=${TOKEN}&expires_in=3600&rest={}` }],
    ['a form as text/plain', { type: 'text/plain; charset=utf-8', body: `access_token=${TOKEN}&expires=3600` }],
    ['a form as JSON', { body: `access_token=${TOKEN}&expires=3600` }],
    // @see golang/oauth2#542, dart-archive/oauth2#10, danielsz/oauth2-client#1
    ['JSON that a servlet declares as text/html', { type: 'text/html; charset=UTF-8' }],
    ['JSON of a type that does not exist', { type: 'leak/leak' }],
    ['a form that PHP declares as text/html', { type: 'text/html', body: `access_token=${TOKEN}&expires_in=3600` }],
    ['JSON with a name in Latin-1, undeclared', { body: LATIN_1 }],
    ['JSON with a name in Latin-1, declared as UTF-8', { type: 'text/html;charset="utf-8"', body: LATIN_1 }],
    ['JSON in UTF-16, declared', { type: 'application/json; charset=utf-16', body: Buffer.from(JSON_BODY, 'utf16le') }],
    ['JSON in UTF-16 with its mark', { body: Buffer.from(`\ufeff${JSON_BODY}`, 'utf16le') }],
    ['JSON in UTF-16 as Java writes it', { type: 'application/json; charset=UTF-16', body: OF_JAVA }],
    ['JSON in UTF-8 that is declared as UTF-16', { type: 'application/json; charset=utf-16', body: `${JSON_BODY} ` }],
    ['JSON with a character set that does not exist', { type: 'application/json; charset=x-none', body: LATIN_1 }],
    ['JSON in a JSON text of a JSON text', { body: JSON.stringify(JSON.stringify(JSON_BODY)) }],
    ['JSON in a member that is called a token', { body: { token: JSON_BODY } }],
    ['JSON in a member of a form', { type: FORM, body: `status=ok&data=${encodeURIComponent(JSON_BODY)}` }],
    ['JSON beside a header', { headers: { 'x-token': TOKEN }, body: { expires_in: 3_600 }, settings: IN_HEADER }],
    ['a JSON text', { type: 'text/plain', headers: { 'expires-in': '3600' }, body: `"${TOKEN}"` }],
    ['an opaque word', { type: null, headers: { 'expires-in': '3600' }, body: TOKEN }],
  ])('is read: %s', (_, answer) => {
    const { accessToken, ...rest } = tokenOf({ body: JSON_BODY, ...answer });
    expect([accessToken.reveal(), rest.expiresAt, rest.expirySource]).toEqual([TOKEN, START + 3_600_000, 'response']);
  });

  it.each<[string, string, Partial<Answer>]>([
    ['a JWT as a JSON text', SIGNED, { body: `"${SIGNED}"` }],
    ['a raw JWT as JSON', SIGNED, { body: SIGNED }],
    ['a raw JWT as application/jwt', SIGNED, { type: 'application/jwt', body: SIGNED }],
    ['a raw JWT after Bearer', SIGNED, { type: 'text/plain', body: `Bearer ${SIGNED}\n` }],
    ['a raw JWT after Bearer, as JSON', SIGNED, { body: `Bearer ${SIGNED}` }],
    ['a word after Bearer, as JSON', 'short', { body: 'Bearer short', settings: ALL_TOKEN }],
    ['padded base64', 'c29tZS1vcGFxdWUtdG9rZW4=', { type: 'text/plain', body: 'c29tZS1vcGFxdWUtdG9rZW4=' }],
    ['a text that the settings call the token', 'short', { type: 'text/plain', body: 'short', settings: ALL_TOKEN }],
    ['digits that the settings call the token', '12345678', { body: '12345678', settings: ALL_TOKEN }],
    ['a raw JWT as a page', SIGNED, { type: 'text/html', body: SIGNED }],
    ['a word of a failure that is named', 'AUTH_FAILED', { body: { word: 'AUTH_FAILED' }, settings: AT('word') }],
    ['a member of JSON in a member', 'inner', { body: { r: '{"a":{"b":"inner"}}' }, settings: AT('r.a.b') }],
  ])('may be %s', (_, token, answer) => {
    expect(tokenOf({ body: JSON_BODY, ...answer }).accessToken.reveal()).toBe(token);
  });

  it.each([
    ...[{ error: null, error_description: null }, { error: '', errors: [] }, { errors: {} }],
    ...[
      { error: 0, errors: '0', errcode: 0, errmsg: 'ok' },
      { error: 'false', errors: 'None' },
    ],
    // @see https://developers.tiktok.com/doc/tiktok-api-v2-error-handling/
    ...[
      { error: { code: 'ok', message: '', log_id: '20260101' } },
      { error: { code: 0, message: 'Success' } },
      { error: 'No error' },
    ],
  ])('may say that there is no error: %j', (members) => {
    expect(tokenOf({ body: { access_token: TOKEN, ...members } }).accessToken.reveal()).toBe(TOKEN);
  });
});

/** Values that must not get out hold `LEAK`. */
const LEAKED = { access_token: 'LEAK-4f9Kq2ZxV7mN1bR8', expires_in: 3_600 };
const WRONG_TYPE = 'its content type is not';
const CUT_OFF = 'not JSON, or is cut off';

const UNUSABLE: readonly (readonly [string, Answer, string])[] = [
  ['nothing', { body: '' }, "is empty. Check the service's authUrl"],
  ['204', { status: 204, type: null, body: '' }, '(204) is unusable: its body is empty'],
  ['HTML', { type: 'text/html; charset=utf-8', body: '<html>LEAK</html>' }, WRONG_TYPE],
  ['HTML without a content type', { type: null, body: '<html>LEAK1234567890</html>' }, 'does not look like'],
  ['a word as HTML', { type: 'text/html', body: 'LEAK-4f9Kq2ZxV7mN1bR8' }, WRONG_TYPE],
  ['a script as HTML', { type: 'text/html', body: 'token="LEAK-4f9Kq2ZxV7mN1bR8";' }, WRONG_TYPE],
  ['HTML called the token', { type: 'text/html', body: '<b>LEAK</b>', settings: ALL_TOKEN }, WRONG_TYPE],
  ['HTML as JSON', { body: '<b>LEAK</b>', settings: ALL_TOKEN }, CUT_OFF],
  ['truncated JSON that the settings call the token', { body: '{"token":"LEAK', settings: ALL_TOKEN }, CUT_OFF],
  ['a page in a member', { body: { body: '<html>LEAK</html>' } }, 'name the token in response.tokenMember'],
  ['truncated JSON', { body: JSON.stringify(LEAKED).slice(0, -4) }, CUT_OFF],
  ['a word as JSON', { body: 'LEAK-4f9Kq2ZxV7mN1bR8' }, CUT_OFF],
  ['NaN', { body: '{"access_token":"LEAK-4f9Kq2ZxV7","expires_in":NaN}' }, CUT_OFF],
  ['a word', { type: 'text/plain', body: 'LEAK' }, 'tokenMember to `$`'],
  ['a failure', { type: 'text/plain', body: 'LEAK_invalid_client_1234' }, 'does not look like'],
  ['no such header', { body: LEAKED, settings: IN_HEADER }, 'tokenHeader names a header that it does not have'],
  ['no known name', { body: { acmeKey: LEAKED.access_token } }, 'name the token in response.tokenMember'],
  ['two tokens', { body: { token: 'LEAK-1', 'LEAK/3': { token: 'LEAK-2' } } }, '`token` and `*.token`'],
  ['a form with an unescaped plus', { type: FORM, body: 'access_token=LEAK+1' }, 'a space'],
  ['a token that has expired', { body: { ...LEAKED, expires_in: -1 } }, 'by `expires_in` the token had expired'],
  ['a life time in words', { body: { ...LEAKED, expires_in: 'LEAK' } }, 'the life time in `expires_in` cannot be read'],
  ['an error', { body: { error: 'LEAK' } }, 'it reports an error'],
  ['a known error', { body: { error: 'invalid_scope' } }, 'it reports invalid_scope, although its status says'],
  ['an error in JSON in a JSON text', { body: JSON.stringify('{"error":"LEAK"}') }, 'it reports an error'],
  ['an error beside a token', { body: { ...LEAKED, error: { code: 'LEAK' } } }, 'it reports an error'],
  ['an error in an array', { body: [{ error: 'LEAK' }] }, 'it reports an error'],
  ['an error without a code', { body: { ...LEAKED, error: { message: 'ok' } } }, 'it reports an error'],
  ['errors beside a token', { body: { ...LEAKED, errors: ['LEAK'] } }, 'it reports an error'],
];

const REJECTED_ON = { rejectedOn: ['bad_login'] };

const ODD_STATUSES: readonly (readonly [number, Partial<Answer>, string])[] = [
  ...[300, 301, 399].map(
    (status) => [status, {}, `${status}: a redirect, which the broker does not follow. Correct`] as const,
  ),
  [400, { type: 'text/html', body: '<html>LEAK</html>' }, '400: it does not accept'],
  [400, { body: { error: 'LEAK', error_description: 'LEAK' } }, '400: it does not accept'],
  [400, { body: { message: 'invalid_client' } }, '400: it does not accept'],
  [400, { body: { error: { description: 'invalid_client', code: 'an invalid_client' } } }, '400: it does not accept'],
  [400, { body: { fault: { detail: { code: 'invalid_client' } } } }, '400: it does not accept'],
  [400, { type: 'text/plain', body: 'error=invalid_client' }, '400 (invalid_client): it does not accept the cred'],
  [400, { body: { error: 'invalid_request' } }, '400 (invalid_request): it does not accept'],
  [400, { body: { error: 'invalid_scope' } }, '(invalid_scope): it does'],
  [403, { body: { error: 'invalid_grant' } }, '(invalid_grant): it forbids'],
  [400, { body: { error: 'unsupported_grant_type' } }, '(unsupported_grant_type): it'],
  [400, { body: { error: 'unauthorized_client' } }, '(unauthorized_client): it does not accept the credential'],
  // @see omniphx/forrest#184
  [400, { body: { error: 'invalid_client_id' } }, '400: it does not accept the credential'],
  [402, {}, '402: check authUrl'],
  [403, {}, 'set rejectedOn403'],
  [404, { body: LEAKED, settings: { rejectedOn403: true } }, 'Check tokenPath'],
  [405, { headers: { allow: 'LEAK' } }, 'it does not accept POST'],
  [411, {}, "411: it expects a body. Set parametersIn to 'body'"],
  [415, {}, 'Check parametersIn'],
  [400, { body: { error: 'bad_login' } }, '400: it does not accept'],
  [404, { body: { error: 'bad_login_LEAK' }, settings: REJECTED_ON }, 'Check tokenPath'],
  [408, { body: { error: 'bad_login' }, settings: REJECTED_ON }, '408: '],
  ...[100, 101, 199, 304, 408, 499, 600].map((status) => [status, {}, `${status}: `] as const),
];

describe('an answer that is no token', () => {
  it.each(UNUSABLE)('holds the version and names the fault of %s', (_, answer, says) => {
    expect(read(answer).outcome).toBe('held');
    const { type, detail, shape } = problemOf(answer);
    expect(type).toBe('token-response-unusable');
    expect(detail).toContain(says);
    expect(shape).toMatchObject({ status: answer.status ?? 200, bytes: bytesOf(answer).length });
  });

  it.each(ODD_STATUSES)('with status %i and %j says to an operator where to look', (status, changes, says) => {
    const answer = { body: '', status, ...changes };
    const { type, detail, shape } = problemOf(answer);
    expect([type, shape?.status]).toEqual(['token-endpoint-error', status]);
    expect(detail).toContain(says);
    expect(read(answer).outcome).toBe(status >= 400 && status <= 499 && status !== 408 ? 'held' : 'failed');
  });

  it.each([429, 502, 503])('with status %i and invalid_client has failed, as a proxy may have answered', (status) => {
    expect(read({ status, body: { error: 'invalid_client' } }).outcome).toBe('failed');
  });

  it.each([429, 500, 503, 599])('with status %i has failed, even with a token', (status) => {
    const detail = `The token endpoint answered ${status}.`;
    const problem = expect.objectContaining({ type: 'token-endpoint-unavailable', detail });
    expect(read({ status, body: LEAKED })).toMatchObject({ outcome: 'failed', problem });
    expect(problemOf({ status, body: LEAKED }).shape).toMatchObject({ status });
  });

  it.each<[string, number | undefined]>([
    ...['1', '299', '300'].map((seconds): [string, number] => [seconds, Number(seconds)]),
    ...['86400', '9'.repeat(9), httpDate(86_400_000)].map((long): [string, number] => [long, 300]),
    [httpDate(60_000), 60],
    // @see denoland/std#7299, duolahypercho/codex-router#573
    ...['Thursday, 01-Jan-26 00:01:00 GMT', 'Thu Jan  1 00:01:00 2026', 'Thu, 1 Jan 2026 00:01:00 GMT'].map(
      (date): [string, number] => [date, 60],
    ),
    ...['60s', '60 Seconds', '"60"', '60.', '60 sec', '1 minute', '1m0s'].map((text): [string, number] => [text, 60]),
    // @see openclaw/clawhub#407, mvanhorn/cli-printing-press#542
    ...[`${START / 1_000 + 60}`, `${START + 60_000}`, '2026-01-01T00:01:00Z'].map((end): [string, number] => [end, 60]),
    // @see getsentry/sentry#7919, urllib3/urllib3#2861
    ...['37.5', '37.0001', '38.0'].map((parts): [string, number] => [parts, 38]),
    ...['120, 120', '30,120', `60, ${httpDate(120_000)}, LEAK, ${httpDate(60_000)}`].map((all): [string, number] => [
      all,
      120,
    ]),
    ...[httpDate(-60_000), '0', '-5', 'LEAK', '', '""', '1e2', '9'.repeat(400)]
      .concat(`${httpDate(60_000)} or so`, 'Thu, 01 Xyz 2026 00:01:00 GMT')
      .map((none): [string, undefined] => [none, undefined]),
  ])('and says to come back after "%s" may be asked again after %s s', (value, seconds) => {
    expect(problemOf({ status: 503, headers: { 'retry-after': value }, body: '' }).retryAfterSeconds).toBe(seconds);
  });

  // @see googleapis/google-oauth-java-client#57, Automattic/wordpress-activitypub#3236, Bandwidth/node-bandwidth#110
  it.each([400, 403, 408, 420, 429, 430])('with status %i waits for an hour, which is the ban itself', (status) => {
    const answer = (seconds: number): Answer => ({
      status,
      headers: { 'retry-after': `${seconds}` },
      body: { error: 'invalid_request' },
      settings: { rejectedOn403: true },
    });
    expect(read(answer(60)).outcome).toBe('failed');
    const problems = [60, 3_599.5, 86_400].map((seconds) => problemOf(answer(seconds)));
    expect(problems.map(({ retryAfterSeconds }) => retryAfterSeconds)).toEqual([60, 3_600, 3_600]);
    expect(problems.map(findingOfProblem)).toEqual(Array(3).fill('throttled'));
  });

  it.each([
    ['/oauth2/token', '/oauth2/token'],
    ['/auth/v1/token/', '/auth/v1/token/'],
    ['token', '/auth/v1/token'],
    ['http://auth.example.com/login.do', '/login.do'],
    ['https://auth.example.com:443/', '/'],
  ])('names the path of a redirect to the same host: %s', (location, path) => {
    expect(problemOf({ status: 308, headers: { location }, body: '' }).detail).toBe(
      `The token endpoint answered 308: a redirect to ${path}, which the broker does not follow. Correct authUrl or tokenPath.`,
    );
  });

  it.each([
    ...['https://other.example.com/oauth2/token', 'https://auth.example.com:8443/token', '/token?LEAK=1'],
    ...['/token#LEAK', '/LEAK4f9Kq2ZxV7mN1bR8', '/marked-id/token', '/a%20b', '/some_leaked_word'],
    ...[`/${'a/'.repeat(9)}`, 'https://[', ''],
  ])('names no other redirect: %j', (location) => {
    const answer = { status: 302, headers: { location }, body: { note: 'some_leaked_word' } };
    const { detail } = problemOf(answer, { clientId: 'marked-id' });
    expect(detail).toContain(location === '' ? '302: a redirect to /auth/v1/token, ' : '302: a redirect, which');
  });

  it.each<[number, Partial<Answer>]>([
    [401, { body: LEAKED }],
    [400, { body: { error: 'invalid_client', error_description: 'LEAK' } }],
    [400, { type: 'application/problem+json', body: { error: 'invalid_client' } }],
    [400, { headers: { 'retry-after': '60' }, body: { error: 'invalid_client' } }],
    [401, { headers: { 'retry-after': '60' } }],
    ...[{ error: 'INVALID_CLIENT' }, { ErrorCode: 'invalid_client' }, { fault: { code: 'invalid_client' } }].map(
      (body): [number, Partial<Answer>] => [400, { body }],
    ),
    ...[{ error: { code: 'invalid_client' } }, { errors: [{ code: 'invalid_client' }] }].map(
      (body): [number, Partial<Answer>] => [400, { body }],
    ),
    // @see casdoor/casdoor#2964
    [200, { body: { error: 'invalid_client', access_token: null } }],
    [200, { type: 'text/html', body: '{"error":"invalid_client"}' }],
    ...[200, 400].map((status): [number, Partial<Answer>] => [status, { type: FORM, body: 'error=invalid_client' }]),
    // @see nuts-foundation/nuts-node#4190, ging/fiware-idm#43
    ...[403, 404, 422, 500].map((status): [number, Partial<Answer>] => [status, { body: { error: 'invalid_client' } }]),
    ...[200, 400, 403, 422, 500, 503].map((status): [number, Partial<Answer>] => [
      status,
      { body: { error: 'bad_login' }, settings: REJECTED_ON },
    ]),
    [200, { type: FORM, body: 'error=bad_login&error_description=LEAK', settings: REJECTED_ON }],
  ])('takes the credential for rejected with status %i and %j', (status, answer) => {
    expect(read({ body: '', status, ...answer })).toEqual({ outcome: 'rejected' });
  });

  it.each([
    ...UNUSABLE.map(([, answer]) => answer),
    ...ODD_STATUSES.map(([status, changes]) => ({ body: LEAKED, ...changes, status })),
    { status: 503, headers: { 'retry-after': 'LEAK' }, body: LEAKED },
    { body: LEAKED, settings: { response: { tokenMember: 'absent' } } },
  ])('has a problem without a value of it (%#)', (answer) => {
    const { message, detail, shape, cause } = problemOf(answer);
    expect(JSON.stringify([message, detail, shape, String(cause)])).not.toMatch(/leak/i);
  });
});

describe('the type and the scope of a token', () => {
  const longest = 'a'.repeat(4_096);

  it.each<[object, string | undefined, string?]>([
    [{}, undefined],
    [{ scope: ['a', 'b'], token_type: 'bearer' }, 'a b'],
    [{ scope: null, scopes: 'a', tokenType: ' DPoP ' }, 'a', 'DPoP'],
    // @see DuendeArchive/Support#1413
    [{ scope: longest, token_type: 'BearerToken' }, longest],
    [{ scope: longest, token_type: 'bearer_token' }, longest],
    [{ scope: longest, token_type: 'Bearer token' }, longest],
    [{ scope: `${longest}a`, token_type: 7 }, undefined],
    ...['a\nb', ['a', 1]].map((scope): [object, undefined] => [{ scope }, undefined]),
    [{ scope: `read ${TOKEN}`, token_type: `x-${TOKEN}` }, undefined],
    [{ scope: ['read', TOKEN], token_type: TOKEN }, undefined],
  ])('are read beside it: %j', (members, scope, tokenType = 'Bearer') => {
    expect(tokenOf({ body: { access_token: TOKEN, ...members } })).toMatchObject({ scope, tokenType });
  });

  it('are read around it when they are not beside it', () => {
    const body = { data: { token: TOKEN, scope: null, token_type: null }, scope: 'a', token_type: 'MAC' };
    expect(tokenOf({ body })).toMatchObject({ scope: 'a', tokenType: 'MAC' });
  });
});

describe('a member to be passed on', () => {
  const passed = (member: string, members: string) => {
    const body = `{"token":"${TOKEN}","info":{"region":"eu",${members}}}`;
    const settings = { response: { tokenMember: 'token', passThrough: [member, 'absent'] } };
    return tokenOf({ body, settings }).passThrough;
  };

  it.each([
    ...['csrf_token', 'jwt', 'jwt_assertion', 'refresh', 'refreshed', 'bearer', 'Authorization'],
    ...['client_secret', 'secret_word', 'password', 'old_passwords', `${'a'.repeat(60)}_token`, 'a'.repeat(65)],
  ])('stays here when its name says that it is secret or is too long, alone or in an object: %s', (name) => {
    expect(passed(`info.${name}`, `"${name}":"x"`)).toEqual({});
    expect(passed('info', `"${name}":"x"`)).toEqual({});
  });

  it.each([
    ...['token_kind', 'uses_jwt', 'may_refresh', 'bearer_kind', 'for_bearer', 'authorization_url', 'pre_authorization'],
    ...['_', 'a'.repeat(64)],
  ])('is passed on when its name only speaks of secrets, or of none: %s', (name) => {
    expect(passed(`info.${name}`, `"${name}":"x"`)).toEqual({ [`info.${name}`]: 'x' });
  });

  it.each(['null', 'false', '1.5', `"${'a'.repeat(4_094)}"`, '{"a":[{"b":[1]}]}'])(
    'is passed on as it is (%#)',
    (json) => {
      expect(passed('info.some', `"some":${json}`)).toEqual({ 'info.some': JSON.parse(json) });
    },
  );

  it.each(['1e999', `"${'a'.repeat(4_095)}"`, '[[[[[1]]]]]', `["x ${TOKEN}"]`])(
    'stays here when it is too large, too deep or holds the token (%#)',
    (json) => expect(passed('info.some', `"some":${json}`)).toEqual({}),
  );
});

function httpDate(sinceMs: number): string {
  return new Date(START + sinceMs).toUTCString();
}
