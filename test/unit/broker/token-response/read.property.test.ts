import fc from 'fast-check';
import { expect, it } from 'vitest';
import { START } from '../../../support/example.ts';
import { type Answer, jwt, RECEIVED_AT, read, serviceOf } from './token-answers.ts';

/** CI tries more. */
const RUNS = { numRuns: process.env.CI ? 2_000 : 300 };

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
