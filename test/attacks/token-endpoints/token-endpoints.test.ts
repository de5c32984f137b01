import type { Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { createHttpsSender } from '../../../functions/aws/https/sender.ts';
import { createTokenRequester } from '../../../functions/broker/token-request/token-request.ts';
import { createBrokerWorld } from '../../support/broker-world.ts';
import { exampleRule, exampleService, START } from '../../support/example.ts';
import { bomb, CHUNKED, drip, end, endless, head, http, type Reply, serve, write } from '../hostile-answers.ts';

/** Part of every answer that must not be shown. */
const MARKED = 'marked-by-the-service';
const HINTS = 'HTTP/1.1 103 Early Hints\r\n\r\n';
const BOMB = bomb();
const TOKEN = JSON.stringify({ access_token: 'a-good-token', expires_in: 3_600 });

const UNUSABLE = { status: 424, type: 'token-response-unusable' };
const ODD = { status: 424, type: 'token-endpoint-error' };
const UNAVAILABLE = { status: 503, type: 'token-endpoint-unavailable' };
const TIMEOUT = { status: 504, type: 'token-endpoint-timeout' };
const REJECTED = { status: 424, type: 'credential-rejected' };

const ATTACKS: readonly (readonly [string, Reply, { readonly status: number; readonly type: string }])[] = [
  ['answers a gzip bomb', write(http(200, BOMB, 'content-encoding: gzip')), UNUSABLE],
  ['answers a gzip bomb that says nothing of it', write(http(200, BOMB)), UNUSABLE],
  ['answers without an end or a length', endless(`${head(200)}\r\n`), UNUSABLE],
  ['drips a body', drip(`${head(200)}content-length: 99999\r\n\r\n${TOKEN}`), TIMEOUT],
  ['never answers', () => {}, TIMEOUT],
  ['extends a chunk for ever', endless(`${CHUNKED}1;x=`, 'y'.repeat(4_096)), ODD],
  ['has a chunk beyond numbers', write(`${CHUNKED}ffffffffffffffffff\r\nx`), ODD],
  ['has a length that is too short', write(`${head(200)}content-length: 9\r\n\r\n${TOKEN}`), ODD],
  ['has 100 kB of headers', write(`${head(200)}x: ${MARKED.repeat(5_000)}\r\n\r\n`), UNUSABLE],
  ['says for ever that it goes on', endless('', HINTS.repeat(100)), UNUSABLE],
  ['resets before it answers', (socket) => socket.resetAndDestroy(), UNAVAILABLE],
  ['closes in a body', end(`${head(200)}content-length: 99\r\n\r\n{"access_`), UNAVAILABLE],
  ['answers 30 000 objects in each other', write(http(200, nested(30_000))), UNUSABLE],
  ['rejects by a gzip bomb', write(http(401, BOMB, 'content-encoding: gzip')), REJECTED],
  ['rejects by half a body', end(`${head(401)}content-length: 99\r\n\r\n{`), REJECTED],
  ['pauses a million years', write(http(429, '', 'retry-after: 31536000000000')), UNAVAILABLE],
  ['describes by line breaks', write(describedError(`${MARKED}\r\nx: y\u0000\u001b[2J`)), ODD],
  ['gives a reason of its own', write(http(500, '').replace(' X\r', ` ${MARKED}\r`)), UNAVAILABLE],
  ['has a status that does not exist', write(http(999, TOKEN)), ODD],
];

it.each(ATTACKS)(
  'a token endpoint that %s gets the credential once, and the caller its problem',
  async (_, onRequest, { status, type }) => {
    const { world, service } = await startWorld(onRequest, status === 504 ? 1_000 : 60_000);

    const answer = await world.post(ACME);
    expect(answer).toMatchObject({ status, json: { type } });
    expect(service.requests).toHaveLength(1);
    expect(answer.body + JSON.stringify(world.audited)).not.toContain(MARKED);
    expect(answer.body.length).toBeLessThan(8_192);
    expect(Number(answer.headers['retry-after'] ?? 0)).toBeLessThanOrEqual(300);
  },
);

describe('a redirect', () => {
  it.each([
    [302, 'the same origin'],
    [307, 'another origin'],
    [308, 'another origin'],
  ])('with %i to %s is not followed', async (status, place) => {
    const trap = await serve({ onRequest: write(http(200, TOKEN)) });
    const { world, service } = await startWorld((socket, count) => {
      const port = place === 'another origin' ? trap.port : socket.localPort;
      const location = `location: http://127.0.0.1:${port}/${MARKED}`;
      write(count === 1 ? http(status, '', location) : http(200, TOKEN))(socket);
    });
    const answer = await world.post(ACME);
    expect(answer).toMatchObject({ status: 424, json: { type: 'token-endpoint-error' } });
    expect([service.requests.length, trap.connections()]).toEqual([1, 0]);
    expect(answer.body + JSON.stringify(world.audited)).not.toContain(MARKED);
  });
});

describe('the connection of a token request', () => {
  it.each<[string, (socket: Socket, answer: string) => void]>([
    ['carries two answers', (socket, answer) => socket.write(answer + http(200, tokenBody('poison')))],
    ['ends by FIN', (socket, answer) => socket.end(answer)],
    ['ends by RST', (socket, answer) => socket.write(answer, () => setImmediate(() => socket.resetAndDestroy()))],
  ])('that %s brings each caller the answer to its own request, which is sent once', async (_, first) => {
    const { world, service } = await startWorld((socket, count) => {
      const answer = http(200, tokenBody(`answer-${count}`));
      if (count === 1) first(socket, answer);
      else socket.write(answer);
    });
    expect((await world.post(ACME)).json.access_token).toBe('answer-1');
    expect((await world.post(GLOBEX)).json.access_token).toBe('answer-2');
    expect([service.requests.length, service.connections()]).toEqual([2, 2]);
  });
});

const ACME = { client: 'acme', service: 'customer-insights' };
const GLOBEX = { client: 'globex', service: 'customer-insights' };

/** The whole broker in front of one service, with a real socket between them; answers are late only when delayed. */
async function startWorld(onRequest: (socket: Socket, count: number) => void, requestTimeoutMs = 60_000) {
  const service = await serve({ onRequest });
  const authUrl = `http://127.0.0.1:${service.port}`;
  const clock = { now: () => START, sleep: async () => {}, random: () => 0 };
  const request = createTokenRequester({ send: createHttpsSender(), ...clock });
  const settings = exampleService({ authUrl, requestTimeoutMs });
  const world = createBrokerWorld({
    services: { 'customer-insights': settings },
    accessRules: [exampleRule({ clients: 'all' })],
    answer: (_, ...order) => request(...order),
  });
  return { world, service };
}

function tokenBody(token: string): string {
  return JSON.stringify({ access_token: token, expires_in: 3_600 });
}

function describedError(description: string): string {
  return http(400, JSON.stringify({ error: 'invalid_request', error_description: description }));
}

function nested(depth: number): string {
  return `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`;
}
