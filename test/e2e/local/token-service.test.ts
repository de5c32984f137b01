import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import {
  startTokenService,
  type TokenService,
  type TokenServiceOptions,
} from '../../../bin/local/token-service/server.ts';
import { createHttpsSender } from '../../../functions/aws/https/sender.ts';
import { SendFailure } from '../../../functions/broker/token-request/send.ts';
import { START } from '../../support/example.ts';

const ACME = { client: 'acme', client_id: 'acme-id', secret: 'pä:ss 🔑' };
const GLOBEX = { client: 'globex', client_id: 'globex-id', secret: 'globex-secret' };
const INSIGHTS = 'customer-insights';
const CLEANSING = 'merchant-payment-cleansing';

async function start(options: Partial<TokenServiceOptions> = {}): Promise<TokenService> {
  const service = await startTokenService({
    credentials: { [INSIGHTS]: [ACME, GLOBEX], [CLEANSING]: [ACME] },
    ...options,
  });
  onTestFinished(service.close);
  return service;
}

function basic({ client_id, secret }: { client_id: string; secret: string }) {
  return { authorization: `Basic ${Buffer.from(`${client_id}:${secret}`).toString('base64')}` };
}

function askForToken(service: TokenService, name = INSIGHTS, headers: Record<string, string> = basic(ACME)) {
  return fetch(`${service.authUrl(name)}/auth/v1/token`, { method: 'POST', headers });
}

const TOKEN = z.object({ access_token: z.string().optional(), token: z.string().optional() });

async function tokenOf(response: Response): Promise<string> {
  const { access_token, token } = TOKEN.parse(await response.json());
  return access_token ?? token ?? 'none';
}

function whoAmI(service: TokenService, name: string, token: unknown) {
  return fetch(`${service.authUrl(name)}/v1/whoami`, { headers: { authorization: `Bearer ${token}` } });
}

function hit(fault: 'hang' | 'reset' | undefined) {
  return (service: TokenService) => service.fault(fault, INSIGHTS);
}

function slowDown(ms: number | undefined) {
  return (service: TokenService) => service.latency(ms, INSIGHTS);
}

function play(...names: readonly string[]) {
  return async (service: TokenService) => {
    for (const name of names) {
      const { status } = await fetch(`${service.authUrl(INSIGHTS)}/incident/${name}`, { method: 'POST' });
      expect(status).toBe(204);
    }
  };
}

/** What the broker's own sender sees of it. */
async function seen(service: TokenService, timeoutMs = 60_000) {
  const request = {
    method: 'POST',
    url: new URL(`${service.authUrl(INSIGHTS)}/auth/v1/token`),
    headers: { ...basic(ACME), 'content-length': '0' },
    body: '',
  } as const;
  return createHttpsSender()(request, { timeoutMs, maxBodyBytes: 1_000 }).then(
    ({ status }) => ({ status }),
    (error) => {
      if (!(error instanceof SendFailure)) throw error;
      return { kind: error.kind, code: error.code, status: error.head?.status };
    },
  );
}

describe('a token request', () => {
  it('gets a token that was never issued before, in the shape of its service', async () => {
    const service = await start({ lifetimeSeconds: 60 });
    const insights = await askForToken(service);
    const cleansing = await askForToken(service, CLEANSING);

    const oauth = { access_token: expect.any(String), token_type: 'Bearer', expires_in: 60 };
    expect(await insights.clone().json()).toEqual(oauth);
    expect(await cleansing.clone().json()).toEqual({ token: expect.any(String), expiresIn: 60 });
    const tokens = [await tokenOf(insights), await tokenOf(cleansing), await tokenOf(await askForToken(service))];
    expect(new Set(tokens).size).toBe(3);
    expect(tokens.map(service.issued)).toEqual([true, true, true]);
    expect(service.issued('made-up')).toBe(false);
  });

  it.each([
    ['a credential of another service only', CLEANSING, basic(GLOBEX)],
    ['a wrong secret', INSIGHTS, basic({ ...ACME, secret: 'wrong' })],
    ['the secret of another client', INSIGHTS, basic({ ...ACME, secret: GLOBEX.secret })],
    ['an unknown client id', INSIGHTS, basic({ client_id: 'initech-id', secret: 'x' })],
    ['no colon', INSIGHTS, { authorization: 'Basic YWNtZS1pZA==' }],
    ['another scheme', INSIGHTS, { authorization: 'Bearer x' }],
    ['no authorization', INSIGHTS, {}],
  ])('with %s is rejected, and written down without the credential', async (_what, name, headers) => {
    const service = await start({ now: () => START });
    const response = await askForToken(service, name, headers);

    expect(response.status).toBe(401);
    expect(response.headers.get('www-authenticate')).toBe('Basic realm="token service", charset="UTF-8"');
    expect(await response.json()).toEqual({ error: 'invalid_client' });
    await askForToken(service);
    expect(service.requests).toMatchObject([
      { service: name, at: START, ok: false },
      { client: 'acme', ok: true },
    ]);
    expect(JSON.stringify(service.requests)).not.toMatch(/secret|pä|-id/);
  });

  it.each([
    ['GET', '/customer-insights/auth/v1/token', 405],
    ['POST', '/customer-insights/v1/whoami', 405],
    ['GET', '/customer-insights/incident/down', 405],
    ['POST', '/customer-insights/incident/earthquake', 404],
    ['POST', '/customer-insights/incident/constructor', 404],
    ['POST', '/no-such-service/incident/down', 404],
    ['POST', '/customer-insights/oauth/token', 404],
    ['POST', '/constructor/auth/v1/token', 404],
    ['POST', '/', 404],
  ])('as %s %s is a %d', async (method, path, status) => {
    const service = await start();
    expect((await fetch(`${service.url}${path}`, { method, headers: basic(ACME) })).status).toBe(status);
    expect(service.requests).toEqual([]);
  });
});

it.each([
  ['good-1', 200],
  ['good-2', 200],
  ['not-good-1', 401],
])('accepts a secret of the form that is given, from any client: %s', async (secret, status) => {
  const service = await start({ acceptedSecret: /^good-/ });
  const headers = basic({ client_id: 'hooli', secret });
  for (const name of [CLEANSING, INSIGHTS]) expect((await askForToken(service, name, headers)).status).toBe(status);
});

it('an issued token is accepted by its service until its end, and no other is', async () => {
  let now = START;
  const service = await start({ now: () => now, lifetimeSeconds: 60 });
  const token = await tokenOf(await askForToken(service));

  expect(await (await whoAmI(service, INSIGHTS, token)).json()).toEqual({ service: INSIGHTS, client: 'acme' });
  expect((await whoAmI(service, CLEANSING, token)).status).toBe(401);
  for (const other of ['made-up', '']) expect((await whoAmI(service, INSIGHTS, other)).status).toBe(401);
  now += 60_000;
  expect((await whoAmI(service, INSIGHTS, token)).status).toBe(401);
});

describe('an answer on demand', () => {
  it('is given in place of a token, for the service and client that it names', async () => {
    const service = await start();
    service.respondWith({ service: INSIGHTS, client: 'globex' }, { status: 503, headers: { 'retry-after': '7' } });
    service.respondWith(CLEANSING, { status: 200, body: new Uint8Array([0xff, 0xfe]) });

    const globex = await askForToken(service, INSIGHTS, basic(GLOBEX));
    const cleansing = await askForToken(service, CLEANSING);
    expect([globex.status, globex.headers.get('retry-after')]).toEqual([503, '7']);
    expect(new Uint8Array(await cleansing.arrayBuffer())).toEqual(new Uint8Array([0xff, 0xfe]));
    expect((await askForToken(service)).status).toBe(200);
  });

  it('is the one for the narrowest target, and can be taken back', async () => {
    const service = await start();
    const targets = [{ service: INSIGHTS, client: 'acme' }, INSIGHTS, undefined];
    for (const [index, target] of targets.entries()) service.respondWith(target, { status: 503 - index });
    const statuses = [(await askForToken(service)).status];
    for (const target of targets) {
      service.respondWith(target, undefined);
      statuses.push((await askForToken(service)).status);
    }
    expect(statuses).toEqual([503, 502, 501, 200]);
  });
});

/** Trouble of tests, and the incidents with which operators rehearse. */
describe('trouble', () => {
  it.each<readonly [string, (service: TokenService) => unknown, (service: TokenService) => unknown, object]>([
    ['that hangs', hit('hang'), hit(undefined), { kind: 'timeout', code: 'ETIMEDOUT', status: undefined }],
    ['that resets', hit('reset'), hit(undefined), { kind: 'broken', code: 'ECONNRESET', status: undefined }],
    ['that is slow', slowDown(10_000), slowDown(undefined), { kind: 'timeout' }],
    ['of the incident reject', play('reject'), play('recover'), { status: 401 }],
    ['of the incident throttle', play('throttle'), play('recover'), { status: 429 }],
    ['of the incident slow', play('slow'), play('recover'), { kind: 'timeout' }],
    ['of the incident down', play('down'), play('recover'), { kind: 'broken', code: 'ECONNRESET' }],
    ['of the last of several incidents', play('slow', 'throttle', 'reject'), play('recover'), { status: 401 }],
  ])('%s hits its service until it ends', async (_, begin, end, expected) => {
    const service = await start();
    await begin(service);
    expect(await seen(service, 'kind' in expected && expected.kind === 'timeout' ? 500 : 60_000)).toMatchObject(
      expected,
    );
    expect((await askForToken(service, CLEANSING)).status).toBe(200);
    await end(service);
    expect(await seen(service)).toEqual({ status: 200 });
  });
});
