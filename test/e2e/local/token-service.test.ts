import { expect, it, onTestFinished } from 'vitest';
import {
  startTokenService,
  type TokenService,
  type TokenServiceOptions,
} from '../../../bin/local/token-service/server.ts';
import { START } from '../../support/example.ts';

const ACME = { client: 'acme', client_id: 'acme-id', secret: 'pä:ss 🔑' };
const GLOBEX = { client: 'globex', client_id: 'globex-id', secret: 'globex-secret' };
const INSIGHTS = 'customer-insights';
const CLEANSING = 'merchant-payment-cleansing';

async function start(options: Partial<TokenServiceOptions> = {}) {
  const credentials = { [INSIGHTS]: [ACME, GLOBEX], [CLEANSING]: [ACME] };
  const service = await startTokenService({ credentials, ...options });
  onTestFinished(service.close);
  /** The outcome of a token request, at the latest after this time. */
  const ask = async (name = INSIGHTS, headers: Readonly<Record<string, string>> = basic(ACME), patienceMs = 60_000) => {
    const request = { method: 'POST', headers, signal: AbortSignal.timeout(patienceMs) };
    const response = await fetch(`${service.authUrl(name)}/auth/v1/token`, request);
    return { status: response.status, headers: response.headers, json: JSON.parse((await response.text()) || '{}') };
  };
  return { ...service, ask };
}

function basic({ client_id, secret }: Pick<typeof ACME, 'client_id' | 'secret'>) {
  return { authorization: `Basic ${Buffer.from(`${client_id}:${secret}`).toString('base64')}` };
}

it('a token request gets a token that was never issued before, in the shape of its service', async () => {
  const { ask, issued } = await start({ lifetimeSeconds: 60 });
  const [{ json: insights }, { json: again }, { json: cleansing }] = [await ask(), await ask(), await ask(CLEANSING)];

  expect(insights).toEqual({ access_token: expect.any(String), token_type: 'Bearer', expires_in: 60 });
  expect(cleansing).toEqual({ token: expect.any(String), expiresIn: 60 });
  const tokens = [insights.access_token, again.access_token, cleansing.token];
  expect(new Set(tokens).size).toBe(3);
  expect([...tokens, 'made-up'].map(issued)).toEqual([true, true, true, false]);
});

it.each([
  ['a credential of another service only', CLEANSING, basic(GLOBEX)],
  ['a wrong secret', INSIGHTS, basic({ ...ACME, secret: 'wrong' })],
  ['no colon', INSIGHTS, { authorization: 'Basic YWNtZS1pZA==' }],
  ['another scheme', INSIGHTS, { authorization: 'Bearer x' }],
])('a token request with %s is rejected, and written down without the credential', async (_what, name, headers) => {
  const { ask, requests } = await start({ now: () => START });
  const rejected = await ask(name, headers);

  expect(rejected).toMatchObject({ status: 401, json: { error: 'invalid_client' } });
  expect(rejected.headers.get('www-authenticate')).toMatch(/^Basic realm=/);
  await ask();
  expect(requests).toMatchObject([
    { service: name, at: START, ok: false },
    { client: 'acme', ok: true },
  ]);
  expect(JSON.stringify(requests)).not.toMatch(/secret|pä|-id/);
});

it.each([
  ['GET', '/customer-insights/auth/v1/token'],
  ['POST', '/customer-insights/incident/constructor'],
  ['POST', '/no-such-service/incident/down'],
  ['POST', '/constructor/auth/v1/token'],
])('there is nothing at %s %s', async (method, path) => {
  const { url, requests } = await start();
  expect((await fetch(url + path, { method, headers: basic(ACME) })).status).toBe(404);
  expect(requests).toEqual([]);
});

it.each([
  ['good-1', 200],
  ['not-good-1', 401],
])('accepts a secret of the form that is given, from any client: %s', async (secret, status) => {
  const { ask } = await start({ acceptedSecret: /^good-/ });
  const headers = basic({ client_id: 'hooli', secret });
  for (const name of [CLEANSING, INSIGHTS]) expect(await ask(name, headers)).toMatchObject({ status });
});

it('an issued token is accepted by its service until its end, and no other is', async () => {
  let now = START;
  const { ask, authUrl } = await start({ now: () => now, lifetimeSeconds: 60 });
  const { json } = await ask();
  const whoAmI = async (name: string, token: string) => {
    const response = await fetch(`${authUrl(name)}/v1/whoami`, { headers: { authorization: `Bearer ${token}` } });
    return response.ok ? response.json() : response.status;
  };

  expect(await whoAmI(INSIGHTS, json.access_token)).toEqual({ service: INSIGHTS, client: 'acme' });
  expect(await whoAmI(CLEANSING, json.access_token)).toBe(401);
  expect(await whoAmI(INSIGHTS, 'made-up')).toBe(401);
  now += 60_000;
  expect(await whoAmI(INSIGHTS, json.access_token)).toBe(401);
});

type World = Awaited<ReturnType<typeof start>>;
const TIMEOUT = { name: 'TimeoutError' };

/** Trouble of tests, and the incidents with which operators rehearse. */
it.each<readonly [string, (service: TokenService) => unknown, (service: TokenService) => unknown, object]>([
  ['that hangs', ({ behave }) => behave(INSIGHTS, { fault: 'hang' }), ({ behave }) => behave(INSIGHTS, {}), TIMEOUT],
  ['of the incident slow', play('slow'), play('recover'), TIMEOUT],
  ['of the last of several incidents', play('slow', 'down', 'reject'), play('recover'), { status: 401 }],
])('trouble %s hits its service until it ends', async (_, begin, end, expected) => {
  const service: World = await start();
  await begin(service);
  const patienceMs = expected === TIMEOUT ? 300 : 60_000;
  expect(await service.ask(INSIGHTS, basic(ACME), patienceMs).catch((error) => error)).toMatchObject(expected);
  expect(await service.ask(CLEANSING)).toMatchObject({ status: 200 });
  await end(service);
  expect(await service.ask()).toMatchObject({ status: 200 });
});

function play(...names: readonly string[]) {
  return async ({ authUrl }: TokenService) => {
    for (const name of names) {
      expect((await fetch(`${authUrl(INSIGHTS)}/incident/${name}`, { method: 'POST' })).status).toBe(204);
    }
  };
}
