import { describe, expect, it } from 'vitest';
import {
  credentialExpiry,
  namesService,
  parseCredential,
  repeatsCredential,
} from '../../../../functions/broker/credential/credential.ts';
import { Redacted } from '../../../../functions/broker/redacted.ts';
import type { BasicEncoding } from '../../../../functions/broker/service.ts';

const SERVICE = 'customer-insights';
const JOINED = 'می\u200cخواهم 👩\u200d💻"}';

function parse(secret: unknown, service = SERVICE, isOnlyService = true) {
  return parseText(JSON.stringify(secret), service, isOnlyService);
}

function parseText(text: string, service = SERVICE, isOnlyService = true) {
  const { clientId, secret } = parseCredential(new Redacted(text), service, { basicEncoding: 'raw', isOnlyService });
  return [clientId.reveal(), secret.reveal()];
}

it.each([
  { client_id: 'id', secret: 's' },
  { client_id: 'id', client_secret: 's' },
  { username: 'id', password: 's' },
  { client_id: 'id', secret: 's', client_secret: 's' },
  { username: 'id', password: 's', engine: 'none', port: 1 },
])('reads %j', (secret) => {
  expect(parse(secret)).toEqual(['id', 's']);
});

it.each([
  ['{"services":["x"],"client_id":"a","client_id":"b","secret":"s"}', 'client_id appears more than once'],
  ['{"client_id":"a","secret":"s","secret":"t"}', 'secret appears more than once'],
  ['{"client_id":"a","secret":"s","services":{"customer-insights":{},"customer-insights":{}}}', `${SERVICE} appears`],
  ['{"client_id":"a","secret":"s","my pass phrase":1,"my pass phrase":2}', 'a member appears more than once'],
])('takes no member of two with the same name: %s', (text, detail) => {
  expect(() => parseText(text)).toThrow(detail);
});

describe('a header of the client', () => {
  const credentialOf = (secret: object) => {
    const rules = { basicEncoding: 'raw', isOnlyService: true, clientHeaders: ['x-api-key', 'X-Id'] } as const;
    const text = new Redacted(JSON.stringify({ client_id: 'id', secret: 's', 'X-Id': '7', ...secret }));
    return parseCredential(text, SERVICE, rules);
  };
  const values = (secret: object) => Object.values(credentialOf(secret).headers).map((value) => value.reveal());

  it('is read from the secret, and for a service from its entry', () => {
    expect(values({ 'x-api-key': 'MARK key' })).toEqual(['MARK key', '7']);
    const services = { [SERVICE]: { 'x-api-key': 'own' } };
    expect(values({ 'x-api-key': 'MARK', services })).toEqual(['own', '7']);
  });

  it('has its name in any case', () => {
    expect(values({ 'X-API-Key': 'key' })).toEqual(['key', '7']);
    expect(() => values({ 'X-API-Key': 'MARK', 'x-api-key': 'other' })).toThrow(
      'x-api-key and X-API-Key contradict each other',
    );
  });

  it.each<[unknown, string]>([
    [undefined, 'x-api-key is missing'],
    [7, 'x-api-key is not a string'],
    ['', 'x-api-key is empty'],
    ...['MARK ', ' MARK', 'MARKé'].map((value): [string, string] => [
      value,
      'x-api-key cannot be the value of a header',
    ]),
  ])('is refused as a part of the secret is: %j', (value, fault) => {
    expect(() => values({ 'x-api-key': value })).toThrow(fault);
    expect(() => values({ 'x-api-key': value })).not.toThrow('MARK');
  });

  it('is as secret as the secret', () => {
    const credential = credentialOf({ 'x-api-key': 'marked-key' });
    expect(JSON.stringify(credential.headers)).toBe('{"x-api-key":"[redacted]","X-Id":"[redacted]"}');
    expect(repeatsCredential({ note: Buffer.from('marked-key').toString('base64') }, credential)).toBe(true);
    expect(repeatsCredential({ note: 'marked' }, credential)).toBe(false);
  });
});

const DAY = '2027-03-01T00:00:00.000Z';
const DAY_S = Date.parse(DAY) / 1_000;
it.each<[object, string]>([
  [{}, 'never'],
  [{ client_secret_expires_at: 0 }, 'never'],
  [{ client_secret_expires_at: DAY_S }, DAY],
  // The entry of the service overrides the top level.
  [{ client_secret_expires_at: 1, services: { [SERVICE]: { client_secret_expires_at: DAY_S } } }, DAY],
  [{ client_secret_expires_at: DAY_S, services: { [SERVICE]: { client_secret_expires_at: 0 } } }, 'never'],
  [{ client_secret_expires_at: DAY_S, services: { [SERVICE]: {}, other: { client_secret_expires_at: 1 } } }, DAY],
  ...[1.5, -1, '1', null, DAY_S * 1_000].map((end): [object, string] => [
    { client_secret_expires_at: end },
    'malformed',
  ]),
])('the end of the credential in %j is %s', (secret, end) => {
  expect(credentialExpiry(new Redacted(JSON.stringify(secret)), SERVICE)).toBe(end);
});

it.each([
  // @see getsops/sops#1186, earendil-works/pi#7499
  ['that PowerShell and Notepad write before JSON', '\ufeff{"client_id":"id","secret":"s"}'],
  ['that are part of a word in Persian, or of an emoji', '{"client_id":"id","secret":"s"}'.replace('s"}', JOINED)],
])('reads characters without a glyph %s', (_, text) => {
  expect(parseText(text)).toEqual(['id', text.includes('\u200d') ? 'می\u200cخواهم 👩\u200d💻' : 's']);
});

it.each([
  // @see aelassas/servy#963, sourcegraph/sourcegraph-public-snapshot#17869
  ['secret', 'hunter2\u200b', 'U+200B'],
  ['secret', 'hun\u00a0ter2', 'U+00A0'],
  ['secret', 'hun\u3000ter2', 'U+3000'],
  ['secret', 'hun\u2800ter2', 'U+2800'],
  ['client_id', '\ufeffid-1234', 'U+FEFF'],
  ['secret', 'hun\u00adter2', 'U+00AD'],
  ['password', '\u202ahunter2\u202c', 'U+202A'],
  ['secret', 'hunter2\u2028', 'U+2028'],
  ['client_secret', 'hunter2\n', 'U+000A'],
  ['secret', 'hunter2\u0085', 'U+0085'],
  ['secret', 'hunter2\ud800', 'U+D800'],
])('names the character without a glyph in %s, as a copied text has: %j', (member, value, character) => {
  const read = () => parse({ ...(member !== 'client_id' && { client_id: 'id-1234' }), [member]: value });
  expect(read).toThrow(`${member} contains ${character}, which is not visible`);
  expect(read).not.toThrow(/hun|id-1234/);
});

it.each([
  ['a blank that is none in JSON', '{\u00a0"client_id": "id-1234"}', ': it contains U+00A0, which is not visible.'],
  ['an invisible character', '{"client_id"\u200b: "id-1234"}', ': it contains U+200B, which is not visible.'],
  ['a missing bracket', '{"client_id": "id-1234"', '"secret":"…"}.'],
])('says that %s makes the text no JSON', (_, text, end) => expect(() => parseText(text)).toThrow(end));

describe('the services of a client', () => {
  const own = { username: 'own', password: 'o' };

  const shared = { client_id: 'id', secret: 's' };

  it.each<[string, object, readonly string[], string?]>([
    ['are all when it says so', { ...shared, services: 'all' }, ['id', 's']],
    ['are the names in an array', { ...shared, services: ['x', SERVICE] }, ['id', 's']],
    ['may have members of their own', { ...shared, services: { [SERVICE]: own } }, ['own', 'o']],
    ['take the rest from the top level', { ...shared, services: { [SERVICE]: { secret: 'o' } } }, ['id', 'o']],
    ['need no top level', { services: { [SERVICE]: own } }, ['own', 'o']],
    ['do not spoil each other', { ...shared, services: { [SERVICE]: {}, other: 7 } }, ['id', 's']],
    ['may have names of members', { ...shared, services: ['constructor'] }, ['id', 's'], 'constructor'],
  ])('%s', (_, secret, expected, service = SERVICE) => {
    expect(names(secret, service)).toBe(true);
    expect(parse(secret, service)).toEqual(expected);
  });

  it('are the only one that is configured when the secret names none, and no one of several', () => {
    expect(parse(shared)).toEqual(['id', 's']);
    // As after a typing error, or from a tool that knows user and password alone.
    for (const secret of [shared, { ...shared, service: [SERVICE] }]) {
      const fault = /^credential-malformed: .*more than one service is .* add "services": \["<service>"\], or .*"all"/;
      expect(() => parse(secret, SERVICE, false)).toThrow(fault);
    }
  });

  it.each<readonly [unknown, string]>([
    ...[{ 'merchant-payment-cleansing': own }, ['merchant-payment-cleansing'], {}, [], ['customer']].map(
      (services) => [services, SERVICE] as const,
    ),
    [{}, 'constructor'],
    [[], 'length'],
  ])('do not fall back to the top level when they are %j', (services, service) => {
    const secret = { ...shared, services };
    expect(names(secret, service)).toBe(false);
    const advice = 'An operator must add it to "services" if the client has a credential for it.';
    const message = `credential-missing: The secret does not name the service ${service}. ${advice}`;
    expect(() => parse(secret, service)).toThrow(message);
  });

  it.each([7, null, 'none', true, [7], [SERVICE, null]])('are malformed as %j', (services) => {
    const secret = { ...shared, services };
    expect(names(secret, SERVICE)).toBeUndefined();
    expect(() => parse(secret)).toThrow(/^credential-malformed: .* services is not an object or an array of names/);
  });

  it.each(['hunter2', '["customer-insights"]', 'null', ''])('are unknown in %j', (text) => {
    expect(namesService(new Redacted(text), SERVICE)).toBeUndefined();
  });
});

it.each(['hunter2hunter2', '', '["hunter2hunter2"]', 'null', '{"client_id":"id","secret":"hunter2hunter2'])(
  'refuses anything but a JSON object: %j',
  (text) => expect(() => parseText(text)).toThrow(/^credential-malformed: .* not a JSON object/),
);

it.each([
  [{ secret: 'hunter2' }, 'client_id is missing'],
  [{ client_id: 'id-1234', Secret: 'hunter2' }, 'secret is missing'],
  [{ client_id: 'id-1234', secret: 12345 }, 'secret is not a string'],
  [{ client_id: '', secret: 'hunter2' }, 'client_id is empty'],
  [{ client_id: 'id-1234', secret: 'é'.repeat(2_049) }, 'secret is longer than 4096 bytes'],
  [{ client_id: 'id-1234', secret: 'hunter2', password: 'hunter3' }, 'secret and password contradict each other'],
  [{ client_id: 'id-1234', username: 'id-5678', secret: 'x' }, 'client_id and username contradict each other'],
  [{ services: 'hunter2' }, 'services is not an object'],
  [{ services: { [SERVICE]: 'hunter2' } }, `services.${SERVICE} is not an object`],
  [{ client_id: 'id-1234', services: { [SERVICE]: { secret: '' } } }, `services.${SERVICE}.secret is empty`],
])('names the member that is wrong and none of the content: %j', (secret, said) => {
  const problem = { type: 'credential-malformed', detail: expect.stringContaining(said), cause: undefined };
  expect(() => parse(secret)).toThrow(expect.objectContaining(problem));
  expect(() => parse(secret)).not.toThrow(/hunter|id-1234|id-5678|12345/);
});

it('takes a secret of exactly 4 KiB, and sends it', () => {
  const secret = 'é'.repeat(2_048);
  expect(parse({ client_id: 'id', secret })[1]).toHaveLength(2_048);
  expect(Buffer.from(header('id', secret, 'raw').slice('Basic '.length), 'base64').toString()).toBe(`id:${secret}`);
});

// The expected values were made with `printf '%s' … | base64` and, for the form, Python's `quote_plus`.
describe('the authorization', () => {
  it.each<[string, string, string, string | undefined]>([
    ['Aladdin', 'open sesame', 'QWxhZGRpbjpvcGVuIHNlc2FtZQ==', undefined],
    ['acme', 'a:b', 'YWNtZTphOmI=', 'YWNtZTphJTNBYg=='],
    ['acme', 'a+b', 'YWNtZTphK2I=', 'YWNtZTphJTJCYg=='],
    ['acme', 'a b', 'YWNtZTphIGI=', 'YWNtZTphK2I='],
    [' acme ', ' s ', 'IGFjbWUgOiBzIA==', undefined],
    ['café', 's', 'Y2Fmw6k6cw==', 'Y2FmJUMzJUE5OnM='],
    ['acme', '🔑', 'YWNtZTrwn5SR', 'YWNtZTolRjAlOUYlOTQlOTE='],
    ['ac+me', '*-._~', 'YWMrbWU6Ki0uX34=', 'YWMlMkJtZToqLS5fJTdF'],
  ])('carries "%s" and "%s" in both dialects', (clientId, secret, raw, form) => {
    expect(header(clientId, secret, 'raw')).toBe(`Basic ${raw}`);
    if (form !== undefined) expect(header(clientId, secret, 'form')).toBe(`Basic ${form}`);
  });

  it('carries a colon in the client id in the form alone, and does not quote it', () => {
    const build = () => header('ac:me', 's', 'raw');
    expect(build).toThrow(/^credential-malformed: .* contains a colon/);
    expect(build).not.toThrow('ac:me');
    expect(header('ac:me', 's', 'form')).toBe('Basic YWMlM0FtZTpz');
  });
});

function names(secret: unknown, service: string): boolean | undefined {
  return namesService(new Redacted(JSON.stringify(secret)), service);
}

/** From the stored secret to the header, as in production: parsing limits the characters of a credential. */
function header(clientId: string, secret: string, basicEncoding: BasicEncoding): string {
  const stored = new Redacted(JSON.stringify({ client_id: clientId, secret }));
  return parseCredential(stored, SERVICE, { basicEncoding, isOnlyService: true }).authorization.reveal();
}
