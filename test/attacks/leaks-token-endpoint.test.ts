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
  [401, 'set-cookie', REJECTED],
  [400, 'content-type', ODD],
  [403, 'x-echo', ODD],
  [404, 'content-location', ODD],
  [407, 'proxy-authenticate', ODD],
  [418, 'warning', ODD],
  [429, 'retry-after', UNAVAILABLE],
  [500, 'server', UNAVAILABLE],
  [503, 'retry-after', UNAVAILABLE],
  [301, 'location', ODD],
  [302, 'set-cookie', ODD],
  [303, 'refresh', ODD],
  [307, 'location', ODD],
  [308, 'content-location', ODD],
  [204, 'etag', ODD],
  [200, 'content-type', UNUSABLE],
  [999, 'x-echo', ODD],
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
      await expectSilence(
        (_, echo) => ({
          reply: write(http(status, echo, `${header}: ${echo}`).replace(' X\r\n', ` ${echo}\r\n`)),
        }),
        outcome,
      );
    });

    it.each<[string, (marks: Marks, echo: string) => unknown, number, Outcome]>([
      [
        'the members of an OAuth error',
        (_, echo) => ({ error: echo, error_description: echo, error_uri: echo }),
        400,
        ODD,
      ],
      [
        'the description of a known error',
        (_, echo) => ({ error: 'invalid_scope', error_description: echo }),
        400,
        ODD,
      ],
      [
        'the description of a rejection',
        (_, echo) => ({ error: 'invalid_client', error_description: echo }),
        400,
        REJECTED,
      ],
      ['an error within a success', (_, echo) => ({ error: echo, access_token: echo }), 200, UNUSABLE],
      ['a known error within a success', (_, echo) => ({ error: 'invalid_client', message: echo }), 200, UNUSABLE],
      ['names of members', (marks, echo) => ({ [marks.secret]: 1, [marks.token]: 2, [echo]: 3 }), 200, UNUSABLE],
      [
        'names of members, with the values beside them',
        (marks) => ({ [marks.secret]: marks.secret, [marks.token]: marks.token }),
        200,
        UNUSABLE,
      ],
      [
        'short names of members',
        (marks) => ({ [marks.secret.slice(0, 8)]: 1, [marks.token.slice(0, 8)]: {} }),
        200,
        UNUSABLE,
      ],
      ['names of nested members', (marks) => ({ data: { [marks.secret]: { [marks.token]: {} } } }), 200, UNUSABLE],
      [
        'names and values of members of an error',
        (marks) => ({ [marks.secret]: { [marks.token]: marks.clientId } }),
        400,
        ODD,
      ],
      ['a list', (marks, echo) => [marks.secret, marks.token, echo], 200, UNUSABLE],
      ['a text', (_, echo) => echo, 200, UNUSABLE],
      [
        'the members of a token, of wrong types',
        (marks, echo) => ({ access_token: [marks.token], expires_in: echo }),
        200,
        UNUSABLE,
      ],
      [
        'two tokens that contradict each other',
        (marks) => ({ access_token: marks.token, token: marks.secret }),
        200,
        UNUSABLE,
      ],
      [
        'a token that no header can carry',
        (marks) => ({ access_token: `${marks.token}\u0000${marks.secret}` }),
        200,
        UNUSABLE,
      ],
      [
        'an expired token, with everything beside it',
        (marks, echo) => ({ access_token: marks.token, expires_in: 0, echo }),
        200,
        UNUSABLE,
      ],
      [
        'a log-in form of an API gateway',
        (_, echo) => ({ fault: { faultstring: echo, detail: { errorcode: echo } } }),
        500,
        UNAVAILABLE,
      ],
      ['nested errors', (_, echo) => ({ errors: [{ message: echo, extensions: { code: echo } }] }), 200, UNUSABLE],
    ])('with everything in %s', async (_, bodyOf, status, outcome) => {
      await expectSilence((marks, echo) => ({ reply: json(status, bodyOf(marks, echo)) }), outcome);
    });

    it.each<[string, (marks: Marks, echo: string) => string, Outcome]>([
      ['a page', (_, echo) => http(200, `<html><title>${echo}</title></html>`, 'content-type: text/html'), UNUSABLE],
      ['XML', (_, echo) => http(200, `<token>${echo}</token>`, 'content-type: text/xml'), UNUSABLE],
      [
        'a form',
        (_, echo) => http(200, `${new URLSearchParams({ echo })}`, 'content-type: application/x-www-form-urlencoded'),
        UNUSABLE,
      ],
      ['JSON that is cut off', (_, echo) => http(200, `{"echo":"${echo}`, 'content-type: application/json'), UNUSABLE],
      [
        'JSON that goes on',
        (marks, echo) => http(200, `{"access_token":"${marks.token}"}${echo}`, 'content-type: application/json'),
        UNUSABLE,
      ],
      [
        'a text that is said to be JSON',
        (marks) => http(200, marks.secret, 'content-type: application/json'),
        UNUSABLE,
      ],
      [
        'a compressed body',
        (_, echo) => http(200, gzipSync(echo).toString('latin1'), `content-encoding: gzip\r\nx-echo: ${echo}`),
        UNUSABLE,
      ],
      ['a body that is called compressed', (_, echo) => http(401, echo, 'content-encoding: gzip'), REJECTED],
      [
        'bytes that are no UTF-8',
        (_, echo) => http(200, `${echo}\u00ff\u00fe`, 'content-type: application/json'),
        UNUSABLE,
      ],
      [
        'a body without an end',
        (_, echo) => `${head(200)}x-echo: ${echo}\r\ntransfer-encoding: chunked\r\n\r\n4000\r\n${echo}`,
        'token-endpoint-timeout',
      ],
      ['a body that is too large', (_, echo) => http(200, echo.repeat(4_000)), UNUSABLE],
      ['headers that are too large', (_, echo) => `${head(200)}x-echo: ${echo.repeat(300)}\r\n\r\n`, UNUSABLE],
      ['a malformed first line', (_, echo) => `${echo}\r\n\r\n`, ODD],
      ['a malformed header', (_, echo) => `${head(200)}${echo}\r\n\r\n`, ODD],
      ['a malformed length', (_, echo) => `${head(200)}content-length: ${echo}\r\n\r\n`, ODD],
      ['a malformed chunk', (_, echo) => `${head(200)}transfer-encoding: chunked\r\n\r\n${echo}\r\n`, ODD],
      [
        'another protocol',
        (_, echo) => `HTTP/1.1 101 ${echo}\r\nupgrade: ${echo}\r\nconnection: upgrade\r\n\r\n${echo}`,
        UNAVAILABLE,
      ],
      ['early hints', (_, echo) => `HTTP/1.1 103 Early Hints\r\nlink: ${echo}\r\n\r\n`.repeat(20), UNUSABLE],
    ])('with everything in %s', async (_, textOf, outcome) => {
      const service = { attemptTimeoutMs: 1_000, requestTimeoutMs: 1_000 };
      await expectSilence((marks, echo) => ({ reply: write(textOf(marks, echo)), service }), outcome);
    });

    it.each<[string, (echo: string) => string]>([
      ['in the middle of the headers', (echo) => `${head(200)}x-echo: ${echo}`],
      ['in the middle of a body', (echo) => `${head(200)}content-length: 9999\r\n\r\n${echo}`],
      ['in the middle of a chunk', (echo) => `${head(200)}transfer-encoding: chunked\r\n\r\n4000\r\n${echo}`],
    ])('with everything and hangs up %s', async (_, textOf) => {
      await expectSilence((_marks, echo) => ({ reply: end(textOf(echo)) }), UNAVAILABLE);
    });

    it.each<[string, (marks: Marks, echo: string) => object]>([
      ['nothing', () => ({})],
      ['everything in a member that the broker does not read', (_, echo) => ({ message: echo })],
      ['a refresh token', (marks) => ({ refresh_token: marks.secret })],
      ['the token in token_type', (marks) => ({ token_type: marks.token })],
      ['the secret in token_type', (marks) => ({ token_type: marks.secret })],
      ['the token in scope', (marks) => ({ scope: marks.token })],
      ['everything in scope', (_, echo) => ({ scope: echo })],
      ['the Basic value in scope', (marks) => ({ scope: basicOf(marks) })],
      ['everything in a member to be passed on', (_, echo) => ({ instance: echo })],
      ['the token below a member to be passed on', (marks) => ({ instance: { a: [marks.token] } })],
      ['the secret below a member to be passed on', (marks) => ({ instance: { a: [marks.secret] } })],
      ['the client id in a member to be passed on', (marks) => ({ instance: marks.clientId })],
      ['a name below a member to be passed on', (marks) => ({ instance: { [marks.secret]: 1 } })],
    ])('with a token and %s', async (_, moreOf) => {
      const service = { response: { lifetimeUnit: 'seconds', passThrough: ['instance'] } } as const;
      await expectSilence(
        (marks, echo) => ({ service, reply: json(200, { access_token: marks.token, ...moreOf(marks, echo) }) }),
        'issued',
      );
    });

    it.each<[string, (marks: Marks) => string]>([
      ['the secret', (marks) => marks.secret],
      ['the secret behind something else', (marks) => `x-${marks.secret}`],
      ['the Basic value', (marks) => basicOf(marks)],
    ])('with %s as its token', async (_, tokenOf) => {
      await expectSilence((marks) => ({ reply: json(200, { access_token: tokenOf(marks) }) }), UNUSABLE);
    });
  });
});
