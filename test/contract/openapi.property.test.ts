import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { parseCheckRequest, parseIssueRequest } from '../../functions/broker/http/request.ts';
import { Problem } from '../../functions/broker/problem.ts';
import { SECRET_STAGES } from '../../functions/contract.ts';
import { readContract } from '../support/contract/openapi.ts';

const RUNS = 5_000;

const ajv = new Ajv2020({ strict: false });
ajv.addSchema(readContract(), 'contract');

/** Mostly values that the broker accepts, and some that it refuses because of one detail. */
const nearly = (right: fc.Arbitrary<unknown>, ...wrong: unknown[]) =>
  fc.oneof({ weight: 6, arbitrary: right }, fc.constantFrom(...wrong), fc.string());
const name = nearly(
  fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/),
  ...['.', '-a', '_a', 'a b', 'a/b', 'a\n', 'é', 'a'.repeat(63), 'a'.repeat(64)],
);
const seconds = nearly(fc.integer({ min: 0, max: 86_400 }), -1, -0, 0.5, 86_400, 86_401, 1e3, '60', 2 ** 53, 1e308);
const fingerprint = nearly(fc.stringMatching(/^[0-9a-f]{16}$/), 'f'.repeat(15), 'f'.repeat(17), 'F'.repeat(16));
const stage = nearly(fc.constantFrom(...SECRET_STAGES), 'awscurrent', 'AWSCURRENT ', 'toString');

it.each<[string, string, typeof parseIssueRequest | typeof parseCheckRequest, Record<string, typeof name>]>([
  ['/token', 'TokenRequest', parseIssueRequest, { min_ttl: seconds, refused: fingerprint }],
  ['/check', 'CheckRequest', parseCheckRequest, { stage }],
])(`POST %s and docs/openapi.yaml accept the same of ${RUNS} bodies`, (_, schema, parse, optional) => {
  const validate = ajv.getSchema(`contract#/components/schemas/${schema}`);
  const right = fc.record({ client: name, service: name, ...optional }, { requiredKeys: ['client', 'service'] });
  const members = ['client', 'service', ...Object.keys(optional), 'extra', 'toString', 'constructor', '__proto__'];
  // After one member has been lost, added or replaced; as text, in which every name is a member of the body itself.
  const spoilt = fc
    .tuple(right, fc.constantFrom(...members), fc.option(fc.jsonValue()))
    .map(([body, member, value]) => {
      const rest = Object.entries(body).filter(([key]) => key !== member);
      const told = value === null ? rest : [...rest, [member, value]];
      return `{${told.map(([key, one]) => `${JSON.stringify(key)}:${JSON.stringify(one)}`).join(',')}}`;
    });
  const bodies = fc.oneof(
    { weight: 5, arbitrary: right.map((body) => JSON.stringify(body)) },
    { weight: 4, arbitrary: spoilt },
    fc.json(),
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
