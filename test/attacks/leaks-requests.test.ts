import { afterAll, beforeAll, describe, it } from 'vitest';
import { requestContext, signedBy } from '../support/function-url-events.ts';
import { basicOf, type Marks, SPELLINGS } from './leak-marks.ts';
import { type LeakWorld, type Outcome, startLeakWorld } from './leak-world.ts';

const PAIR = { client: 'acme', service: 'customer-insights' };

type Changes = Readonly<Record<string, unknown>>;
type Request = readonly [where: string, changes: (marks: Marks) => Changes, outcome?: Outcome];

/** Requests of a caller that puts its secrets and tokens where they do not belong. */
const REQUESTS: readonly Request[] = [
  ['refused', ({ token }) => members({ ...PAIR, refused: token })],
  ['min_ttl', ({ token }) => members({ ...PAIR, min_ttl: token })],
  ['client, with a line break', ({ token }) => members({ ...PAIR, client: `${token}\n` })],
  ['service, as an object', ({ secret }) => members({ ...PAIR, service: { [secret]: secret } })],
  ['service, as a Basic value', (marks) => members({ ...PAIR, service: `Basic ${basicOf(marks)}` })],
  ['an unknown member', ({ secret }) => members({ ...PAIR, client_secret: secret })],
  ['the name of an unknown member', ({ token, secret }) => members({ ...PAIR, [token]: 1, [secret]: 2 })],
  ['a list of members', ({ token }) => members([token])],
  ['a body that is no JSON', ({ token }) => ({ body: token })],
  ['JSON that breaks off', ({ token }) => ({ body: `{"client":"acme","token":"${token}` })],
  ['a body that is no base64', ({ token }) => ({ body: `${token}!`, isBase64Encoded: true })],
  ['a form that is nothing else', ({ secret }) => form(encodeURIComponent(secret))],
  ['a form that names it twice', ({ secret }) => form(`${encodeURIComponent(secret)}=1&`.repeat(2))],
  ['the query', ({ token }) => ({ rawQueryString: `access_token=${token}` })],
  ['the path', ({ token }) => ({ rawPath: `/token/${token}` }), 'not-found'],
  ['the method', ({ token }) => ({ requestContext: requestContext(signedBy(BILLING), token) }), 'method-not-allowed'],
  ['the content type', (marks) => headers({ 'content-type': marks.token }, marks), 'unsupported-media-type'],
  [
    'headers',
    (marks) =>
      headers({ ...JSON_TYPE, authorization: basicOf(marks), cookie: marks.token, [marks.secret]: 'x' }, marks),
    'issued',
  ],
  ['a body of 20 kB', ({ token }) => members({ ...PAIR, x: token.repeat(800) }), 'content-too-large'],
  [
    'a request without a signature',
    ({ token }) => ({ ...members({ client: token }), requestContext: requestContext(undefined) }),
    'access-denied',
  ],
  ['an input that is not an event', ({ sessionToken }) => ({ rawPath: { sessionToken } }), 'not-found'],
];

describe.each(SPELLINGS)('with %s marks, a caller who sends a secret or a token in', (spelling) => {
  let world: LeakWorld;
  beforeAll(async () => {
    world = await startLeakWorld(spelling);
  });
  afterAll(() => world.close());

  const requests = REQUESTS.map(([where, changesOf, outcome = 'invalid-request']) => ({ where, changesOf, outcome }));
  it.each(requests)('$where', async ({ changesOf, outcome }) => {
    await world.expectSilence({ events: [changesOf(world.marks)] }, outcome);
  });
});

const BILLING = 'arn:aws:sts::111111111111:assumed-role/billing/run-1';
const JSON_TYPE = { 'content-type': 'application/json' };

function members(body: unknown): Changes {
  return { body: JSON.stringify(body) };
}

function headers(names: Readonly<Record<string, string>>, { sessionToken }: Marks): Changes {
  return { headers: { ...names, 'x-amz-security-token': sessionToken } };
}

function form(body: string): Changes {
  return { headers: { 'content-type': 'application/x-www-form-urlencoded' }, body };
}
