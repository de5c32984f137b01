import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { checkRequestSchema, tokenRequestSchema } from '../../bin/openapi/request-schemas.ts';
import { parseCheckRequest } from '../../functions/broker/check-request.ts';
import { parseIssueRequest } from '../../functions/broker/issue-request.ts';
import { Problem } from '../../functions/broker/problem.ts';

describe.each([
  ['a token', tokenRequestSchema, parseIssueRequest],
  ['a check', checkRequestSchema, parseCheckRequest],
] as const)('a request for %s', (_what, schema, parse) => {
  it('is read when the described schema allows it, and no other is', () => {
    let allowed = 0;
    fc.assert(
      fc.property(BODY, (body) => {
        const json = JSON.stringify(body);
        const isAllowed = schema.safeParse(JSON.parse(json)).success;
        expect(isRead(() => parse('application/json', new TextEncoder().encode(json)))).toBe(isAllowed);
        allowed += Number(isAllowed);
      }),
      { numRuns: 2_000, seed: 1, examples: [[JSON.parse('{"__proto__":{"client":"acme","service":"a"}}')]] },
    );
    expect(allowed).toBeGreaterThan(200);
  });
});

/** Mostly what a member may be. */
const member = (right: readonly unknown[], wrong: readonly unknown[]) =>
  fc.oneof(
    { weight: 10, arbitrary: fc.constantFrom(...right) },
    { weight: 1, arbitrary: fc.constantFrom(...wrong) },
    { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 1 }) },
  );

const NAME = member(['acme', 'a', '0.b_c-D', 'a'.repeat(63)], ['a'.repeat(64), '.a', 'a b', 'acme\n', '', 'ä']);

const MEMBERS = {
  client: NAME,
  service: NAME,
  min_ttl: member([0, 60, 86_400], [86_401, -1, 0.5, 1e20, '60']),
  refused: member(['0123456789abcdef', 'fedcba9876543210'], ['0123456789ABCDEF', '0123456789abcde', '']),
  stage: member(['AWSCURRENT', 'AWSPENDING', 'AWSPREVIOUS'], ['awscurrent', '']),
};

const BODY = fc.oneof(
  { weight: 1, arbitrary: fc.record(MEMBERS, { requiredKeys: [] }) },
  { weight: 4, arbitrary: fc.record(pick('client', 'service', 'stage'), { requiredKeys: ['client', 'service'] }) },
  {
    weight: 4,
    arbitrary: fc.record(pick('client', 'service', 'min_ttl', 'refused'), { requiredKeys: ['client', 'service'] }),
  },
  { weight: 1, arbitrary: fc.jsonValue() },
);

function pick(...names: readonly (keyof typeof MEMBERS)[]) {
  return Object.fromEntries(names.map((name) => [name, MEMBERS[name]]));
}

function isRead(parse: () => unknown): boolean {
  try {
    return parse() !== undefined;
  } catch (error) {
    if (error instanceof Problem && error.type === 'invalid-request') return false;
    throw error;
  }
}
