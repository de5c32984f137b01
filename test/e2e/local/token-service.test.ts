import { expect, it, onTestFinished } from 'vitest';
import { startTokenService, type TokenServiceOptions } from '../../../local/token-service/server.ts';

const ACME = { client: 'acme', client_id: 'acme-id', secret: 'pä:ss 🔑' };
const INSIGHTS = 'customer-insights';
const CLEANSING = 'merchant-payment-cleansing';

async function start(options: Partial<TokenServiceOptions> = {}) {
  const credentials = { [INSIGHTS]: [ACME], [CLEANSING]: [ACME] };
  const service = await startTokenService({ credentials, ...options });
  onTestFinished(service.close);
  const authorization = `Basic ${Buffer.from(`${ACME.client_id}:${ACME.secret}`).toString('base64')}`;
  /** The outcome of a token request, at the latest after this time. */
  const ask = async (name = INSIGHTS, patienceMs = 60_000) => {
    const request = { method: 'POST', headers: { authorization }, signal: AbortSignal.timeout(patienceMs) };
    const response = await fetch(`${service.authUrl(name)}/auth/v1/token`, request);
    return { status: response.status, json: JSON.parse((await response.text()) || '{}') };
  };
  return { ...service, ask };
}

it('an issued token is accepted by its service until its end, and no other is', async () => {
  const [{ ask, authUrl }, brief] = [await start(), await start({ lifetimeSeconds: 0 })];
  const { json } = await ask();
  const whoAmI = async (url: string, token: string) => {
    const response = await fetch(`${url}/v1/whoami`, { headers: { authorization: `Bearer ${token}` } });
    return response.ok ? response.json() : response.status;
  };

  expect(await whoAmI(authUrl(INSIGHTS), json.access_token)).toEqual({ service: INSIGHTS, client: 'acme' });
  expect(await whoAmI(authUrl(CLEANSING), json.access_token)).toBe(401);
  expect(await whoAmI(authUrl(INSIGHTS), 'made-up')).toBe(401);
  expect(await whoAmI(brief.authUrl(INSIGHTS), (await brief.ask()).json.access_token)).toBe(401);
});

it('an incident hits its service alone, until it ends', async () => {
  const { ask, play } = await start();
  for (const name of ['down', 'slow']) expect(play({ service: INSIGHTS, name })).toBeDefined();
  await expect(ask(INSIGHTS, 300)).rejects.toThrow('timeout');
  expect(await ask(CLEANSING)).toMatchObject({ status: 200 });
  play({ service: INSIGHTS, name: 'recover' });
  expect(await ask()).toMatchObject({ status: 200 });
});
