import { expect, it, onTestFinished } from 'vitest';
import { startTokenService, type TokenServiceOptions } from '../../../local/token-service/server.ts';
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

it.each([
  ['slow', { name: 'TimeoutError' }],
  ['reject', { status: 401 }],
])('the last incident, %s, hits its service alone, until it ends', async (incident, expected) => {
  const { ask, play } = await start();
  for (const name of ['down', incident]) expect(play({ service: INSIGHTS, name })).toBeDefined();
  const patienceMs = incident === 'slow' ? 300 : 60_000;
  expect(await ask(INSIGHTS, basic(ACME), patienceMs).catch((error) => error)).toMatchObject(expected);
  expect(await ask(CLEANSING)).toMatchObject({ status: 200 });
  play({ service: INSIGHTS, name: 'recover' });
  expect(await ask()).toMatchObject({ status: 200 });
});
