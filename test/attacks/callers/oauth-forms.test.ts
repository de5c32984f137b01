import fc from 'fast-check';
import { expect, it } from 'vitest';
import { createBrokerWorld } from '../../support/broker-world.ts';
import { findMark } from '../../support/encodings.ts';

const SEED = 27;
const FORMS = 3_000;
const SECRET = 's$+/=9Zs$+/=9Z';

const NAMES = ['acme', 'globex', 'customer-insights globex', '../../acme', 'acme\u0000', '', '\ud800'];
const value = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...NAMES) },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 80 }) },
);
const mostly = (usual: string) =>
  fc.oneof({ weight: 9, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: value });
const parameter = (name: string, usual: string) => mostly(usual).map((text): [string, string] => [name, text]);
const maybe = (one: fc.Arbitrary<[string, string]>) => fc.oneof(fc.constant(undefined), one);

/** Forms that are mostly right, in any order, with parameters that are missing, empty, unknown or there twice. */
const forms = fc
  .tuple(
    parameter('grant_type', 'client_credentials'),
    parameter('client_id', 'acme'),
    parameter('scope', 'customer-insights'),
    fc.constant<[string, string]>(['client_secret', SECRET]),
    maybe(parameter('min_ttl', '60')),
    maybe(parameter('refused', '0123456789abcdef')),
    maybe(fc.tuple(fc.constantFrom('client', 'audience', '__proto__', 'client_id', 'scope', 'grant_type'), value)),
  )
  .chain((all) =>
    fc.shuffledSubarray(
      all.filter((one) => one !== undefined),
      { minLength: 3 },
    ),
  );

it(`${FORMS} made-up OAuth forms get what JSON gets, in the words of RFC 6749, and no secret of theirs comes back`, async () => {
  const world = createBrokerWorld();
  const counts: Record<string, number> = {};
  for (const form of fc.sample(forms, { numRuns: FORMS, seed: SEED })) {
    const contentType = 'application/x-www-form-urlencoded';
    const body = `${new URLSearchParams(form)}`;
    const { status, headers, json } = await world.post({}, { contentType, body });

    const given = (name: string) =>
      form.filter(([known, text]) => known === name && text !== '').map(([, text]) => text);
    const [grantType] = given('grant_type');
    const isOAuth = grantType !== undefined;
    expect([headers['content-type'], 'error' in json]).toEqual(
      isOAuth || status === 200 ? ['application/json', status !== 200] : ['application/problem+json', false],
    );
    counts[json.error ?? status] = (counts[json.error ?? status] ?? 0) + 1;
    expect(findMark(JSON.stringify([headers, json, world.audited.splice(0)]), SECRET)).toEqual([]);

    const isRepeated = ['grant_type', 'client_id', 'scope', 'min_ttl', 'refused'].some(
      (name) => given(name).length > 1,
    );
    if (!isOAuth || isRepeated || grantType !== 'client_credentials') {
      expect({ form, status }).toEqual({ form, status: 400 });
      continue;
    }
    const seconds = given('min_ttl')[0];
    const members = {
      client: given('client_id')[0]?.toWellFormed(),
      service: given('scope')[0]?.toWellFormed(),
      min_ttl: /^\d{1,9}$/.test(seconds ?? '') ? Number(seconds) : seconds,
      refused: given('refused')[0],
    };
    const same = await world.post(members);
    world.audited.splice(0);
    expect({ form, status, type: json.type }).toEqual({ form, status: same.status, type: same.json.type });
  }
  // Nothing is proven by forms that are all turned away for the same reason.
  const seen = ['200', 'invalid_request', 'invalid_scope', 'unsupported_grant_type', 'unauthorized_client'];
  for (const outcome of seen) expect([outcome, counts[outcome]]).toEqual([outcome, expect.toSatisfy((n) => n >= 30)]);
});
