import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { end, head, http, write } from './hostile-answers.ts';
import { basicOf, echoOf, type Marks, SPELLINGS } from './leak-marks.ts';
import { json, type LeakWorld, type Outcome, type Path, startLeakWorld } from './leak-world.ts';

const UNUSABLE = 'token-response-unusable';
const ODD = 'token-endpoint-error';
const UNAVAILABLE = 'token-endpoint-unavailable';
const REJECTED = 'credential-rejected';

/** A status, one header that repeats everything, and the outcome. */
const STATUSES: readonly (readonly [status: number, header: string, outcome: Outcome])[] = [
  [401, 'www-authenticate', REJECTED],
  [400, 'content-type', ODD],
  [407, 'proxy-authenticate', ODD],
  [429, 'retry-after', UNAVAILABLE],
  [503, 'server', UNAVAILABLE],
  [302, 'set-cookie', ODD],
  [307, 'location', ODD],
  [204, 'etag', ODD],
  [200, 'content-type', UNUSABLE],
  [999, 'x-echo', ODD],
];

type Body = readonly [what: string, bodyOf: (marks: Marks, echo: string) => unknown, status: number, outcome: Outcome];

const BODIES: readonly Body[] = [
  ['the members of an error', (_, echo) => ({ error: echo, error_description: echo, error_uri: echo }), 400, ODD],
  ['the description of a known error', (_, echo) => ({ error: 'invalid_scope', error_description: echo }), 400, ODD],
  ['the description of a rejection', (_, echo) => ({ error: 'invalid_client', message: echo }), 400, REJECTED],
  ['an error within a success', (_, echo) => ({ error: echo, access_token: echo }), 200, UNUSABLE],
  ['names of members', (marks, echo) => ({ [marks.secret]: 1, [marks.token]: 2, [echo]: 3 }), 200, UNUSABLE],
  ['the client id as a name', (marks) => ({ [marks.clientId]: { [`my-${marks.clientId}`]: 1 } }), 200, UNUSABLE],
  ['short names', (marks) => ({ [marks.secret.slice(0, 8)]: 1, [marks.token.slice(0, 8)]: {} }), 200, UNUSABLE],
  ['names and values', ({ secret, token }) => ({ [secret]: secret, [token]: token }), 200, UNUSABLE],
  ['names of nested members', ({ secret, token }) => ({ data: { [secret]: { [token]: {} } } }), 200, UNUSABLE],
  ['names in an error', (marks) => ({ [marks.secret]: { [marks.token]: marks.clientId } }), 400, ODD],
  ['a list', (marks, echo) => [marks.secret, marks.token, echo], 200, UNUSABLE],
  ['a text', (_, echo) => echo, 200, UNUSABLE],
  ['wrong types', (marks, echo) => ({ access_token: [marks.token], expires_in: echo }), 200, UNUSABLE],
  ['two tokens', (marks) => ({ access_token: marks.token, token: marks.secret }), 200, UNUSABLE],
  ['a token with NUL', (marks) => ({ access_token: `${marks.token}\u0000${marks.secret}` }), 200, UNUSABLE],
  ['an expired token', (marks, echo) => ({ access_token: marks.token, expires_in: 0, echo }), 200, UNUSABLE],
  ['a fault of a gateway', (_, echo) => ({ fault: { faultstring: echo, detail: [echo] } }), 500, UNAVAILABLE],
  ['the secret as the token', (marks) => ({ access_token: marks.secret }), 200, UNUSABLE],
  ['a token that holds the secret', (marks) => ({ access_token: `x-${marks.secret}` }), 200, UNUSABLE],
  ['the Basic value as the token', (marks) => ({ access_token: basicOf(marks) }), 200, UNUSABLE],
];

type Bytes = readonly [what: string, textOf: (marks: Marks, echo: string) => string, outcome: Outcome];

const BYTES: readonly Bytes[] = [
  ['a page', (_, echo) => http(200, `<html><title>${echo}</title></html>`, 'content-type: text/html'), UNUSABLE],
  ['a form', (_, echo) => http(200, `${new URLSearchParams({ echo })}`, `content-type: ${FORM}`), UNUSABLE],
  ['JSON that is cut off', (_, echo) => http(200, `{"echo":"${echo}`), UNUSABLE],
  ['JSON that goes on', (marks, echo) => http(200, `{"access_token":"${marks.token}"}${echo}`), UNUSABLE],
  ['a text that is said to be JSON', (marks) => http(200, marks.secret), UNUSABLE],
  ['a compressed body', (_, echo) => http(200, gzipSync(echo).toString('latin1'), 'content-encoding: gzip'), UNUSABLE],
  ['a body that is called compressed', (_, echo) => http(401, echo, 'content-encoding: gzip'), REJECTED],
  ['bytes that are no UTF-8', (_, echo) => http(200, `${echo}\u00ff\u00fe`), UNUSABLE],
  ['a body without an end', (_, echo) => `${CHUNKED}4000\r\n${echo}`, 'token-endpoint-timeout'],
  ['a body that is too large', (_, echo) => http(200, echo.repeat(4_000)), UNUSABLE],
  ['headers that are too large', (_, echo) => `${head(200)}x-echo: ${echo.repeat(300)}\r\n\r\n`, UNUSABLE],
  ['a malformed first line', (_, echo) => `${echo}\r\n\r\n`, ODD],
  ['a malformed header', (_, echo) => `${head(200)}${echo}\r\n\r\n`, ODD],
  ['a malformed length', (_, echo) => `${head(200)}content-length: ${echo}\r\n\r\n`, ODD],
  ['a malformed chunk', (_, echo) => `${CHUNKED}${echo}\r\n`, ODD],
  ['another protocol', (_, echo) => `HTTP/1.1 101 ${echo}\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n`, UNAVAILABLE],
  ['early hints', (_, echo) => `HTTP/1.1 103 Early Hints\r\nlink: ${echo}\r\n\r\n`.repeat(20), UNUSABLE],
];

describe.each(SPELLINGS)('with %s marks', (spelling) => {
  let world: LeakWorld;
  beforeAll(async () => {
    world = await startLeakWorld(spelling);
  });
  afterAll(() => world.close());

  async function expectSilence(path: (marks: Marks, echo: string) => Path, outcome: Outcome): Promise<void> {
    await world.expectSilence(path(world.marks, echoOf(world.marks)), outcome);
  }

  describe('a token endpoint that answers', () => {
    it.each(STATUSES)('%i and repeats everything in its body, its reason and %s', async (status, header, outcome) => {
      const textOf = (echo: string) => http(status, echo, `${header}: ${echo}`).replace(' X\r\n', ` ${echo}\r\n`);
      await expectSilence((_, echo) => ({ reply: write(textOf(echo)) }), outcome);
    });

    it.each(BODIES)('with everything in %s', async (_, bodyOf, status, outcome) => {
      await expectSilence((marks, echo) => ({ reply: json(status, bodyOf(marks, echo)) }), outcome);
    });

    it.each(BYTES)('with everything in %s', async (_, textOf, outcome) => {
      const service = { attemptTimeoutMs: 1_000, requestTimeoutMs: 1_000 };
      await expectSilence((marks, echo) => ({ reply: write(textOf(marks, echo)), service }), outcome);
    });

    it.each<[string, string]>([
      ['headers', `${head(200)}x-echo: `],
      ['a body', `${head(200)}content-length: 9999\r\n\r\n`],
      ['a chunk', `${CHUNKED}4000\r\n`],
    ])('with everything and hangs up in the middle of %s', async (_, start) => {
      await expectSilence((_marks, echo) => ({ reply: end(start + echo) }), UNAVAILABLE);
    });

    it.each<[string, (marks: Marks, echo: string) => object]>([
      ['nothing', () => ({})],
      ['everything in a member that the broker does not read', (_, echo) => ({ message: echo })],
      ['a refresh token', (marks) => ({ refresh_token: marks.secret })],
      ['the token in token_type', (marks) => ({ token_type: marks.token })],
      ['the secret in token_type', (marks) => ({ token_type: marks.secret })],
      ['everything in scope', (_, echo) => ({ scope: echo })],
      ['the Basic value in scope', (marks) => ({ scope: basicOf(marks) })],
      ['everything in a member to be passed on', (_, echo) => ({ instance: echo })],
      ['the token below a member to be passed on', (marks) => ({ instance: { a: [marks.token] } })],
      ['the secret below a member to be passed on', (marks) => ({ instance: { a: [marks.secret] } })],
      ['the client id in a member to be passed on', (marks) => ({ instance: marks.clientId })],
      ['a name below a member to be passed on', (marks) => ({ instance: { [marks.secret]: 1 } })],
    ])('with a token and %s', async (_, moreOf) => {
      const service = { response: { lifetimeUnit: 'seconds', passThrough: ['instance'] } } as const;
      const reply = (marks: Marks, echo: string) => json(200, { access_token: marks.token, ...moreOf(marks, echo) });
      await expectSilence((marks, echo) => ({ service, reply: reply(marks, echo) }), 'issued');
    });
  });

  it.each<[string, (echo: string, marks: Marks) => object]>([
    ['message', (echo) => new Error(echo, { cause: new AggregateError([new Error(echo)]) })],
    ['name', (_, { secret }) => Object.assign(new Error('x'), { name: secret })],
    ['code', (_, { clientId }) => Object.assign(new Error('x'), { code: clientId })],
    ['trace', (echo) => Object.assign(new Error('x'), { stack: `Error: x\n    at ${echo}` })],
  ])('a bug while a token is requested, which throws an error with everything in its %s', async (_, thrown) => {
    const send = async () => Promise.reject(thrown(echoOf(world.marks), world.marks));
    await world.expectSilence({ send, isAlone: true }, 'internal');
  });
});

const CHUNKED = `${head(200)}transfer-encoding: chunked\r\n\r\n`;
const FORM = 'application/x-www-form-urlencoded';
