import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { START } from '../../../support/example.ts';
import { type Answer, jwt as jwtOf, RECEIVED_AT, read, serviceOf } from './token-answers.ts';

/** CI tries more. */
const RUNS = { numRuns: process.env.CI ? 5_000 : 1_000 };

const TOKEN_NAMES = ['access_token', 'accessToken', 'token', 'id_token', 'jwt', 'sessionId', 'refresh_token', 'value'];
const LIFE_NAMES = ['expires_in', 'expires', 'expiresAt', 'ttl', 'exp', '.expires', 'expiresInMs', 'maxAge'];
const OTHER_NAMES = ['data', 'error', 'errors', 'scope', 'token_type', '__proto__', 'constructor', 'length', ''];

const number = fc.oneof(
  fc.constantFrom(0, -1, 0.5, 3_600, 1e9, 1.8e9, 1.8e12, 1e300, START, START / 1_000 + 60),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
);
const jwt = fc
  .record({ exp: number, iat: number, sub: fc.string() }, { requiredKeys: [] })
  .map((claims) => jwtOf(claims));
const text = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({ minLength: 1, unit: 'grapheme-ascii' }),
  fc.base64String({ minLength: 16 }),
  number.map(String),
  fc.date({ noInvalidDate: true }).map((date) => date.toISOString()),
  fc.constantFrom('0:01:00', '1h', 'PT1H', 'Bearer x', 'bearer', `/Date(${START})/`, 'invalid_client', 'P', 'PT'),
  jwt,
);
const name = fc.oneof(fc.constantFrom(...TOKEN_NAMES, ...LIFE_NAMES, ...OTHER_NAMES), fc.string());
const { tree: json } = fc.letrec((tie) => ({
  tree: fc.oneof(
    { maxDepth: 4 },
    { weight: 4, arbitrary: text },
    { weight: 3, arbitrary: fc.dictionary(name, tie('tree')) },
    fc.array(tie('tree'), { maxLength: 2 }),
    { weight: 2, arbitrary: number },
    fc.constantFrom(null, true, false),
  ),
}));
const life = fc.oneof(
  { weight: 3, arbitrary: fc.integer({ min: 1, max: 100_000 }) },
  { weight: 3, arbitrary: fc.constantFrom('0:01:00', START + 1e6, new Date(START + 1e6).toISOString()) },
  text,
  number,
);
const tokenBody = fc
  .record({
    token: fc.oneof(jwt, fc.base64String({ minLength: 16 })),
    rest: fc.dictionary(fc.constantFrom(...LIFE_NAMES, 'x'), life),
  })
  .map(({ token, rest }) => JSON.stringify({ access_token: token, ...rest }));

const body = fc.oneof(
  fc.uint8Array({ maxLength: 512 }),
  text,
  json.map((value) => JSON.stringify(value)),
  json.map((value) => JSON.stringify(value).slice(0, -1)),
  { weight: 6, arbitrary: tokenBody },
  fc.dictionary(name, text).map((members) => new URLSearchParams(members).toString()),
);
const HEADERS = ['date', 'retry-after', 'expires', 'expires-in', 'x-token-ttl', 'content-encoding', '__proto__'];
const headers = fc.dictionary(
  fc.constantFrom(...HEADERS),
  fc.oneof(text, fc.constantFrom('identity', 'gzip', 'Thu, 01 Jan 2026 00:00:00 GMT')),
  { maxKeys: 2 },
);
const path = fc.array(name, { minLength: 1, maxLength: 3 }).map((names) => names.join('.'));
const settings = fc.record(
  {
    rejectedOn403: fc.boolean(),
    tokenLifetimeSeconds: fc.integer({ min: 1, max: 7_200 }),
    maxLifetimeSeconds: fc.integer({ min: 1, max: 86_400 }),
    response: fc.record(
      {
        tokenMember: fc.oneof(path, fc.constantFrom('$', 'access_token')),
        lifetimeMember: fc.oneof(path, fc.constantFrom(...LIFE_NAMES)),
        lifetimeUnit: fc.constantFrom('seconds' as const, 'milliseconds' as const),
        passThrough: fc.array(path, { maxLength: 3 }),
      },
      { requiredKeys: [] },
    ),
  },
  { requiredKeys: [] },
);
const types = fc.constantFrom('application/json', 'text/plain', null, 'application/x-www-form-urlencoded');
const answer: fc.Arbitrary<Answer> = fc.record({
  status: fc.oneof({ weight: 4, arbitrary: fc.constantFrom(200, 201, 204) }, fc.integer({ min: 100, max: 999 })),
  type: fc.oneof({ weight: 6, arbitrary: types }, fc.string()),
  headers,
  body,
  settings: fc.oneof({ weight: 2, arbitrary: fc.constant({}) }, settings),
});

describe('reading any answer at all', () => {
  it('gives a usable token, a rejection or a problem, and never throws', () => {
    const outcomes = { token: 0, rejected: 0, held: 0, failed: 0 };
    fc.assert(
      fc.property(answer, (any) => {
        const reading = read(any);
        outcomes[reading.outcome] += 1;
        if (reading.outcome !== 'token') return;
        const { accessToken, tokenType, expiresAt, expirySource, scope = '-', passThrough } = reading.token;
        expect(accessToken.reveal()).toMatch(/^[\x21-\x7e]{1,65536}$/);
        expect(tokenType).toMatch(/^[^\s,;"()]{1,64}$/);
        expect(Number.isInteger(expiresAt)).toBe(true);
        expect(expiresAt).toBeGreaterThan(RECEIVED_AT);
        expect(expiresAt).toBeLessThanOrEqual(START + serviceOf(any.settings).maxLifetimeSeconds * 1_000);
        expect(['response', 'jwt', 'configured', 'assumed']).toContain(expirySource);
        expect(scope).toMatch(/^[\x20-\x7e]+$/);
        expect(JSON.parse(JSON.stringify(passThrough))).toEqual(passThrough);
      }),
      RUNS,
    );
    // Otherwise the property would hold because nearly every answer is refused at the first check.
    expect(Math.min(outcomes.token, outcomes.held) / RUNS.numRuns).toBeGreaterThan(0.05);
  });

  it.each([
    ['arrays', '['.repeat(100_000)],
    ['closed arrays', '['.repeat(100_000) + ']'.repeat(100_000)],
    ['objects', `${'{"data":'.repeat(20_000)}1${'}'.repeat(20_000)}`],
    ['names', `{${Array.from({ length: 17_000 }, (_, n) => `"token${n}":1`).join()}}`],
    ['spaces before nothing', `Bearer${' '.repeat(250_000)}`],
    ['dots', '.'.repeat(250_000)],
    ['a nearly endless number', '9'.repeat(250_000)],
    ['ampersands', `access_token=${'&'.repeat(250_000)}`],
    ['escapes', `{"expires_in":"${'\\u0039'.repeat(40_000)}","token":"a"}`],
  ])('takes no longer than a moment for 250 kB of %s', (_, text) => {
    const settings = { response: { passThrough: ['data', 'data.data'] } };
    const before = process.cpuUsage();
    read({ type: null, body: text, settings });
    const { user } = process.cpuUsage(before);

    expect(user / 1_000).toBeLessThan(500);
  });
});
