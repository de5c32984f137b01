import { expect, it } from 'vitest';
import { createHttpsSender } from '../../../functions/aws/https/sender.ts';
import { createTokenRequester } from '../../../functions/broker/token-request/token-request.ts';
import { createBrokerWorld } from '../../support/broker-world.ts';
import { exampleService, PAIR, START } from '../../support/example.ts';
import { bomb, end, endless, head, http, type Reply, serve, write } from '../hostile-answers.ts';

const BOMB = bomb();
const TOKEN = JSON.stringify({ access_token: 'a-good-token', expires_in: 3_600 });

const UNUSABLE = { status: 424, type: 'token-response-unusable' };
const UNAVAILABLE = { status: 503, type: 'token-endpoint-unavailable' };
const TIMEOUT = { status: 504, type: 'token-endpoint-timeout' };
const REJECTED = { status: 424, type: 'credential-rejected' };

const ATTACKS: readonly (readonly [string, Reply, { readonly status: number; readonly type: string }])[] = [
  ['answers a gzip bomb', write(http(200, BOMB, 'content-encoding: gzip')), UNUSABLE],
  ['answers without an end or a length', endless(`${head(200)}\r\n`), UNUSABLE],
  ['never answers', () => {}, TIMEOUT],
  ['resets before it answers', (socket) => socket.resetAndDestroy(), UNAVAILABLE],
  ['closes in a body', end(`${head(200)}content-length: 99\r\n\r\n{"access_`), UNAVAILABLE],
  ['answers 30 000 objects in each other', write(http(200, nested(30_000))), UNUSABLE],
  ['rejects by a gzip bomb', write(http(401, BOMB, 'content-encoding: gzip')), REJECTED],
  ['rejects by half a body', end(`${head(401)}content-length: 99\r\n\r\n{`), REJECTED],
];

it.each(ATTACKS)(
  'a token endpoint that %s gets the credential once, and the caller its problem',
  async (_, onRequest, { status, type }) => {
    const { world, service } = await startWorld(onRequest, status === 504 ? 1_000 : 60_000);

    const answer = await world.post(PAIR);
    expect(answer).toMatchObject({ status, json: { type } });
    expect(service.requests).toHaveLength(1);
    expect(answer.body.length).toBeLessThan(8_192);
    expect(Number(answer.headers['retry-after'] ?? 0)).toBeLessThanOrEqual(300);
  },
);

it('a redirect is not followed', async () => {
  const trap = await serve({ onRequest: write(http(200, TOKEN)) });
  const location = `location: http://127.0.0.1:${trap.port}/`;
  const { world, service } = await startWorld(write(http(307, '', location)));
  expect(await world.post(PAIR)).toMatchObject({ status: 424, json: { type: 'token-endpoint-error' } });
  expect([service.requests.length, trap.connections()]).toEqual([1, 0]);
});

/** The whole broker in front of one service, with a real socket between them; answers are late only when delayed. */
async function startWorld(onRequest: Reply, requestTimeoutMs = 60_000) {
  const service = await serve({ onRequest });
  const authUrl = `http://127.0.0.1:${service.port}`;
  const clock = { now: () => START, sleep: async () => {}, random: () => 0 };
  const request = createTokenRequester({ sendHttp: createHttpsSender(), ...clock });
  const services = { 'customer-insights': exampleService({ authUrl, requestTimeoutMs }) };
  return { world: createBrokerWorld({ services, answer: (_, ...order) => request(...order) }), service };
}

function nested(depth: number): string {
  return `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`;
}
