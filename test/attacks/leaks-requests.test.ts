import { afterAll, beforeAll, describe, it } from 'vitest';
import { requestContext, signedBy } from '../support/function-url-events.ts';
import { basicOf, type Marks, SPELLINGS } from './leak-marks.ts';
import { type LeakWorld, type Outcome, startLeakWorld } from './leak-world.ts';

const PAIR = { client: 'acme', service: 'customer-insights' };

type Changes = Readonly<Record<string, unknown>>;

/** Requests of a caller that puts its secrets and tokens where they do not belong. */
const REQUESTS: readonly (readonly [where: string, changes: (marks: Marks) => Changes, outcome: Outcome])[] = [
  ['refused', ({ token }) => members({ ...PAIR, refused: token }), 'invalid-request'],
  ['min_ttl', ({ token }) => members({ ...PAIR, min_ttl: token }), 'invalid-request'],
  ['client, with a line break', ({ token }) => members({ ...PAIR, client: `${token}\n` }), 'invalid-request'],
  ['client, as a list', ({ token }) => members({ ...PAIR, client: [token] }), 'invalid-request'],
  ['service, as an object', ({ secret }) => members({ ...PAIR, service: { [secret]: secret } }), 'invalid-request'],
  ['service, as a Basic value', (marks) => members({ ...PAIR, service: `Basic ${basicOf(marks)}` }), 'invalid-request'],
  ['an unknown member', ({ secret }) => members({ ...PAIR, client_secret: secret }), 'invalid-request'],
  [
    'the name of an unknown member',
    ({ token, secret }) => members({ ...PAIR, [token]: 1, [secret]: 2 }),
    'invalid-request',
  ],
  ['a list of members', ({ token }) => members([token]), 'invalid-request'],
  ['a body that is a text', ({ token }) => members(token), 'invalid-request'],
  ['a body that is no JSON', ({ token }) => ({ body: token }), 'invalid-request'],
  ['JSON that breaks off', ({ token }) => ({ body: `{"client":"acme","token":"${token}` }), 'invalid-request'],
  ['a body that is no base64', ({ token }) => ({ body: `${token}!`, isBase64Encoded: true }), 'invalid-request'],
  ['a form that is nothing else', ({ token }) => form(token), 'invalid-request'],
  [
    'a form that names it twice',
    ({ token }) => form(`${encodeURIComponent(token)}=1&${encodeURIComponent(token)}=2`),
    'invalid-request',
  ],
  ['the query', ({ token }) => ({ rawQueryString: `access_token=${token}` }), 'invalid-request'],
  ['the path', ({ token }) => ({ rawPath: `/token/${token}` }), 'not-found'],
  ['the method', ({ token }) => ({ requestContext: requestContext(signedBy(BILLING), token) }), 'method-not-allowed'],
  [
    'the content type',
    ({ token, sessionToken }) => headers({ 'content-type': token }, sessionToken),
    'unsupported-media-type',
  ],
  [
    'headers',
    (marks) =>
      headers(
        { ...JSON_TYPE, authorization: `Basic ${basicOf(marks)}`, cookie: marks.token, 'x-secret': marks.secret },
        marks.sessionToken,
      ),
    'issued',
  ],
  [
    'the name of a header',
    ({ token, sessionToken }) => headers({ ...JSON_TYPE, [token]: token }, sessionToken),
    'issued',
  ],
  ['a body of 20 kB', ({ token }) => members({ ...PAIR, x: token.repeat(800) }), 'content-too-large'],
  [
    'a request without a signature',
    ({ token }) => ({ ...members({ client: token }), requestContext: requestContext(undefined) }),
    'access-denied',
  ],
  [
    'an input that is not an event',
    ({ sessionToken }) => ({ rawPath: { sessionToken }, body: [sessionToken] }),
    'access-denied',
  ],
];

describe.each(SPELLINGS)('with %s marks, a caller who sends a secret or a token in', (spelling) => {
  let world: LeakWorld;
  beforeAll(async () => {
    world = await startLeakWorld(spelling);
  });
  afterAll(() => world.close());

  it.each(REQUESTS)('%s', async (_, changesOf, outcome) => {
    await world.expectSilence({ events: [changesOf(world.marks)] }, outcome);
  });
});

const BILLING = 'arn:aws:sts::111111111111:assumed-role/billing/run-1';
const JSON_TYPE = { 'content-type': 'application/json' };

function members(body: unknown): Changes {
  return { body: JSON.stringify(body) };
}

function headers(names: Readonly<Record<string, string>>, sessionToken: string): Changes {
  return { headers: { ...names, 'x-amz-security-token': sessionToken } };
}

function form(body: string): Changes {
  return { headers: { 'content-type': 'application/x-www-form-urlencoded' }, body };
}
