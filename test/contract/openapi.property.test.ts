import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseCheckRequest, parseIssueRequest } from '../../functions/broker/http/request.ts';
import { Problem } from '../../functions/broker/problem.ts';
import { SECRET_STAGES } from '../../functions/contract.ts';
import { readContract } from '../support/contract/openapi.ts';

const RUNS = 5_000;

const ajv = new Ajv2020({ strict: false });
ajv.addSchema(readContract(), 'contract');

/** Names that the broker accepts, and names that it refuses because of one character. */
const name = fc.oneof(
  { weight: 6, arbitrary: fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/) },
  fc.constantFrom('', '.', '-a', '_a', 'a b', 'a/b', 'a\n', 'é', 'a'.repeat(63), 'a'.repeat(64), 'all'),
  fc.string(),
);
const seconds = fc.oneof(
  { weight: 4, arbitrary: fc.integer({ min: 0, max: 86_400 }) },
  fc.constantFrom(-1, -0, 0, 0.5, 86_400, 86_401, 1e3, '60', 2 ** 53, 1e308),
  fc.double(),
);
const fingerprint = fc.oneof(
  { weight: 4, arbitrary: fc.stringMatching(/^[0-9a-f]{16}$/) },
  fc.stringMatching(/^[0-9a-fA-F]{15,17}$/),
);
const stage = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom<string>(...SECRET_STAGES) },
  fc.constantFrom('awscurrent', 'AWSCURRENT ', '', 'toString'),
);

/** A body of well-formed members, most of them right. */
const nearlyRight = (optional: Readonly<Record<string, fc.Arbitrary<unknown>>>) =>
  fc.record({ client: name, service: name, ...optional }, { requiredKeys: ['client', 'service'] });

/** The same after one member has been lost, added or replaced by any JSON. */
const spoilt = (body: fc.Arbitrary<object>, members: readonly string[]) =>
  fc
    .tuple(
      body,
      fc.constantFrom(...members, 'extra', 'toString', 'constructor', '__proto__'),
      fc.option(fc.jsonValue()),
    )
    .map(([object, member, value]) => {
      const rest = Object.entries(object).filter(([key]) => key !== member);
      // As text, in which every name is a member of the body itself.
      return `{${[...rest, ...(value === null ? [] : [[member, value]])].map(([key, one]) => `${JSON.stringify(key)}:${JSON.stringify(one)}`).join(',')}}`;
    });

const OPERATIONS = [
  {
    path: '/token',
    schema: 'TokenRequest',
    parse: parseIssueRequest,
    optional: { min_ttl: seconds, refused: fingerprint },
  },
  { path: '/check', schema: 'CheckRequest', parse: parseCheckRequest, optional: { stage } },
] as const;

describe.each(OPERATIONS)('POST $path and docs/openapi.yaml', ({ schema, parse, optional }) => {
  it(`accept the same of ${RUNS} bodies`, () => {
    const validate = ajv.getSchema(`contract#/components/schemas/${schema}`);
    const body = nearlyRight(optional);
    const members = ['client', 'service', ...Object.keys(optional)];
    const bodies = fc.oneof(
      { weight: 5, arbitrary: body.map((value) => JSON.stringify(value)) },
      { weight: 4, arbitrary: spoilt(body, members) },
      { weight: 1, arbitrary: fc.json() },
    );
    const outcomes = { accepted: 0, refused: 0 };
    fc.assert(
      fc.property(bodies, (text) => {
        const isAccepted = accepts(parse, text);
        outcomes[isAccepted ? 'accepted' : 'refused'] += 1;
        expect(validate?.(JSON.parse(text)), text).toBe(isAccepted);
      }),
      { numRuns: RUNS },
    );
    expect(Math.min(outcomes.accepted, outcomes.refused)).toBeGreaterThan(RUNS / 10);
  });
});

/** Whether the broker accepts a JSON body; it answers any other with `invalid-request`. */
function accepts(parse: (contentType: string, body: string) => unknown, text: string): boolean {
  try {
    parse('application/json', text);
    return true;
  } catch (error) {
    expect(error).toBeInstanceOf(Problem);
    expect(error).toMatchObject({ type: 'invalid-request' });
    return false;
  }
}
