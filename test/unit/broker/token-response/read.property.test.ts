import fc from 'fast-check';
import { expect, it } from 'vitest';
import { START } from '../../../support/example.ts';
import { type Answer, jwt, RECEIVED_AT, read, serviceOf } from './token-answers.ts';

/** CI tries more. */
const RUNS = { numRuns: process.env.CI ? 5_000 : 1_000 };

const name = fc.oneof(
  fc.constantFrom(
    ...['access_token', 'token', 'id_token', 'sessionId', 'refresh_token', 'error', 'scope', 'token_type', 'data'],
    ...['expires_in', 'expiresAt', 'ttl', '.expires', 'expiresInMs', '__proto__', 'constructor', 'length', ''],
  ),
  fc.string(),
);
const number = fc.oneof(
  fc.constantFrom(0, -1, 0.5, 3_600, 1e9, 1.8e9, 1.8e12, 1e300, START, START / 1_000 + 60),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
);
const text = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.base64String({ minLength: 16 }),
  fc.date({ noInvalidDate: true }).map((date) => date.toISOString()),
  fc.constantFrom('0:01:00', 'Bearer x', 'invalid_client', 'Thu, 01 Jan 2026 00:00:00 GMT', 'gzip'),
  number.map((exp) => jwt({ exp })),
);
const json = fc.object({ key: name, values: [text, number, fc.constantFrom(null, true, false)], maxDepth: 4 });
const withToken = fc
  .tuple(fc.base64String({ minLength: 16 }), fc.dictionary(name, text, { maxKeys: 3 }))
  .map(([token, rest]) => ({ expires_in: 60, ...rest, access_token: token }));
const path = fc.array(name, { minLength: 1, maxLength: 3 }).map((names) => names.join('.'));
const response = {
  tokenMember: fc.oneof(path, fc.constantFrom('$', 'access_token')),
  lifetimeMember: path,
  lifetimeUnit: fc.constantFrom('seconds' as const, 'milliseconds' as const),
  passThrough: fc.array(path, { maxLength: 3 }),
};
const answer: fc.Arbitrary<Answer> = fc.record({
  status: fc.oneof({ weight: 4, arbitrary: fc.constantFrom(200, 201, 204) }, fc.integer({ min: 100, max: 999 })),
  type: fc.constantFrom('application/json', 'application/jwt', null, 'application/x-www-form-urlencoded', 'x'),
  headers: fc.dictionary(fc.constantFrom('date', 'retry-after', 'expires-in', '__proto__'), text, { maxKeys: 2 }),
  body: fc.oneof({ weight: 4, arbitrary: withToken }, json, text, fc.uint8Array({ maxLength: 512 })),
  settings: fc.oneof(fc.constant({}), fc.record({ response: fc.record(response, { requiredKeys: [] }) })),
});

/** An object in a text in a text …: each level doubles the escapes. */
function nestedText(depth: number): string {
  let text = '{"token":"abcdefgh12345678"}';
  for (let level = 0; level < depth; level += 1) text = JSON.stringify(text);
  return text;
}

it('reading any answer returns a usable token, a rejection or a problem, and never throws', () => {
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
  ['texts in texts', nestedText(16)],
  ['texts with objects', JSON.stringify(Array.from({ length: 900 }, (_, n) => [`m${n}`, '{"a":1}']).flat())],
  ['brackets in texts', JSON.stringify({ a: '['.repeat(200_000), b: '"'.repeat(20_000) })],
  ['dots', '.'.repeat(250_000)],
  ['a nearly endless number', '9'.repeat(250_000)],
  ['ampersands', `access_token=${'&'.repeat(250_000)}`],
  ['escapes', `{"expires_in":"${'\\u0039'.repeat(40_000)}","token":"a"}`],
  // A token is searched for the credential in all its encodings.
  ...['%2525', 'a+%41', 'abcd.', '\\u0041', 'QUJD'].map((part) => [
    `"${part}" in a token`,
    JSON.stringify({ access_token: part.repeat(13_000).slice(0, 65_536) }),
  ]),
])('reading takes no longer than a moment for an answer that is full of %s', (_, body) => {
  const before = process.cpuUsage();
  read({ type: null, body, settings: { response: { passThrough: ['data', 'data.data'] } } });
  expect(process.cpuUsage(before).user / 1_000).toBeLessThan(500);
});
