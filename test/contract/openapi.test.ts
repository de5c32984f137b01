import { readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { createFakeBroker } from '../../client/testing.ts';
import { parseCheckRequest, parseIssueRequest } from '../../functions/broker/http/request.ts';
import { Problem } from '../../functions/broker/problem.ts';
import {
  CAUSE_ADVICE,
  FINDINGS,
  NAME_PATTERN,
  PROBLEM_ADVICE,
  PROBLEMS,
  PROOFS,
  type ProblemType,
  SECRET_STAGES,
} from '../../functions/vocabulary.ts';
import { type Description, escaped, type Media, readContract, responseOf } from '../support/contract/openapi.ts';
import { send } from '../support/requests.ts';
import { startServing } from '../unit/client/serve/forward-world.ts';

const CONTRACT = readContract();
const SERVE: Description = parse(readFileSync('docs/serve.yaml', 'utf8'));
const TYPES = Object.keys(PROBLEMS) as readonly ProblemType[];
const PROBLEM = 'application/problem+json';

/** Strict: a keyword that JSON Schema does not know, a wrong type or a reference that leads nowhere is an error. */
const ajv = new Ajv2020({ strict: true, strictRequired: false, strictTypes: false, validateFormats: true });
formats.default(ajv);
ajv.addVocabulary(['openapi', 'info', 'servers', 'security', 'paths', 'components']);
ajv.addSchema(CONTRACT, 'contract');
ajv.addSchema(CONTRACT, 'openapi.yaml');
ajv.addSchema(SERVE, 'serve.yaml');

describe('docs/openapi.yaml', () => {
  it.each(nodesOf(CONTRACT).flatMap(([pointer, node]) => (isMedia(pointer, node) ? [[pointer, node] as const] : [])))(
    'has a schema at %s that its examples fit',
    (pointer, { examples = {}, ...media }) => {
      const validate = ajv.compile({ $ref: `contract#${pointer}/schema` });
      const values = [
        ...Object.values(examples).map(({ value }) => value),
        ...('example' in media ? [media.example] : []),
      ];
      for (const value of values) expect(validate(value), JSON.stringify(validate.errors)).toBe(true);
    },
  );

  it('refers to all of its components, and to nothing else', () => {
    const references = nodesOf(CONTRACT).flatMap(([, node]) => ('$ref' in node ? [node.$ref] : []));
    const { headers, responses, schemas } = CONTRACT.components;
    const components = Object.entries({ headers, responses, schemas }).flatMap(([kind, named]) =>
      Object.keys(named).map((name) => `#/components/${kind}/${name}`),
    );
    expect(new Set(references)).toEqual(new Set(components));
  });
});

describe('docs/openapi.yaml agrees with functions/vocabulary.ts', () => {
  it.each(TYPES)('of the problem %s: its status, title, whether to retry, and what to do', (type) => {
    const { status, title, retryable } = PROBLEMS[type];
    const { description = '', content } = responseOf(CONTRACT, '/token', status)?.response ?? {};
    expect(description.split('\n')).toContain(`* \`${type}\`: ${title}. ${PROBLEM_ADVICE[type]}`);
    expect(content?.[PROBLEM]?.examples?.[type]?.value).toMatchObject({ type, title, status, retryable });
  });

  it('of all problems, which a token, a check and the question who asks can end in', () => {
    // A check answers with a finding where an operator or the service must act, unless its own time ran out.
    const ofCheck = TYPES.filter((type) => {
      return type === 'token-endpoint-timeout' || !['operator', 'service'].includes(PROBLEMS[type].concerns);
    });
    expect(typesAt('/token')).toEqual(new Set(TYPES));
    expect(typesAt('/check')).toEqual(new Set(ofCheck));
    expect(typesAt('/whoami')).toEqual(
      new Set(['invalid-request', 'access-denied', 'method-not-allowed', 'content-too-large', 'internal']),
    );
    expect(CONTRACT.components.schemas.Problem?.properties?.type?.enum).toEqual(TYPES);
  });

  it('of names, stages, findings and proofs', () => {
    // The requests are held against the broker itself, below.
    const { client, service, stage, finding, proven_by, cause } = CONTRACT.components.schemas.Check?.properties ?? {};
    expect([client?.pattern, service?.pattern]).toEqual([NAME_PATTERN.source, NAME_PATTERN.source]);
    expect(cause?.enum).toEqual(Object.keys(CAUSE_ADVICE));
    expect([stage?.enum, finding?.enum, proven_by?.enum]).toEqual([SECRET_STAGES, FINDINGS, PROOFS]);
  });
});

describe('docs/serve.yaml', () => {
  it('has references that lead somewhere', () => {
    const references = nodesOf(SERVE).flatMap(([pointer, node]) => ('schema' in node ? [`serve.yaml#${pointer}`] : []));
    expect(references.length).toBeGreaterThan(5);
    for (const reference of references) expect(() => ajv.compile({ $ref: `${reference}/schema` })).not.toThrow();
  });

  const key = { 'x-token-broker-key': 'a-key-of-at-least-thirty-two-characters' };
  const form = { 'content-type': 'application/x-www-form-urlencoded' };
  const json = { 'content-type': 'application/json' };
  const pair = { client: 'acme', service: 'customer-insights' };
  const grant = 'grant_type=client_credentials&client_id=acme&scope=customer-insights';
  const oauth = { ...form, ...key };

  it.each<[string, string, string, Record<string, string>, string, number, string]>([
    ['a token', 'POST', '/token', { ...json, ...key }, JSON.stringify(pair), 200, ''],
    ['a token in an OAuth form', 'POST', '/token', oauth, grant, 200, ''],
    ['a wrong pair', 'POST', '/token', { ...json, ...key }, '{}', 400, 'invalid-request'],
    ['no access', 'POST', '/token', oauth, grant.replace('acme', 'denied'), 403, 'access-denied'],
    ['no key', 'POST', '/token', form, grant, 401, 'unauthorized'],
    ['the role', 'POST', '/whoami', key, '', 200, ''],
    ['a sign of life', 'GET', '/ping', {}, '', 200, ''],
    ['a web page', 'GET', '/ping', { origin: 'https://example.com' }, '', 403, 'foreign-origin'],
    ['another host', 'GET', '/ping', { host: 'example.com' }, '', 421, 'foreign-host'],
    ['a proxy', 'POST', '/whoami', { via: '1.1 proxy' }, '', 400, 'forwarded'],
    ['a call of no API', 'GET', '/api/acme/other/x', key, '', 404, 'not-found'],
    ['a WebSocket', 'GET', '/api/acme/customer-insights/x', { ...key, upgrade: 'websocket' }, '', 501, 'not-forwarded'],
    ['a call of an API that is away', 'GET', '/api/acme/customer-insights/x', key, '', 502, 'api-unreachable'],
  ])('describes the answer of the server to %s', async (_, method, path, headers, body, status, type) => {
    const fake = createFakeBroker();
    const token: typeof fake.broker.token = (request) => {
      if (request.client === 'denied') fake.fail('access-denied');
      return fake.broker.token(request);
    };
    const broker = { ...fake.broker, token };
    const server = await startServing({ broker, key: key['x-token-broker-key'], api: 'http://127.0.0.1:9' });
    const answer = await send({ method, url: server.url + path, headers, body });
    const told = JSON.parse(answer.body);
    expect([answer.status, told.type ?? '']).toEqual([status, type]);

    const template = path.startsWith('/api/') ? '/api/{client}/{service}/{path}' : path;
    const { responses } = Object(SERVE.paths[template])[method.toLowerCase()];
    expect(responses).toHaveProperty(status === 200 ? '200' : status < 500 || path.length > 9 ? '4XX' : '5XX');
    const success = `/paths/${escaped(path)}/${method.toLowerCase()}/responses/200`;
    const pointer = status === 200 ? success : '/components/responses/Failure';
    const media = `${answer.headers['content-type']}`;
    // A type of content that is not described has no schema.
    const validate = ajv.compile({ $ref: `serve.yaml#${pointer}/content/${escaped(media)}/schema` });
    expect(validate(told), JSON.stringify(validate.errors)).toBe(true);
    if (type !== '' && status !== 200) expect(media === PROBLEM || 'error' in told).toBe(true);
  });
});

const RUNS = 1_500;

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

/** The types that the examples of an operation's problems have; each of them is in the schema beside it, and no other. */
function typesAt(path: string): ReadonlySet<string> {
  const responses = Object.keys(CONTRACT.paths[path]?.post.responses ?? {});
  const types = responses.flatMap((status) => {
    const media = responseOf(CONTRACT, path, status)?.response.content?.[PROBLEM];
    const shown = Object.keys(media?.examples ?? {});
    expect(JSON.stringify(media?.schema ?? {})).toContain(media ? JSON.stringify({ enum: shown }) : '{}');
    return shown;
  });
  return new Set(types);
}

/** Every object of the document with the JSON pointer to it. */
function nodesOf(value: unknown, pointer = ''): readonly (readonly [string, object])[] {
  if (typeof value !== 'object' || value === null) return [];
  const below = Object.entries(value).flatMap(([name, one]) => nodesOf(one, `${pointer}/${escaped(name)}`));
  return [[pointer, value], ...below];
}

function isMedia(pointer: string, node: object): node is Media {
  return 'schema' in node && /\/(content|headers)\/[^/]+$/.test(pointer);
}
