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

function play(service: TokenService, name: string) {
  return fetch(`${service.authUrl(INSIGHTS)}/incident/${name}`, { method: 'POST' });
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

    expect(await insights.clone().json()).toEqual({
      access_token: expect.any(String),
      token_type: 'Bearer',
      expires_in: 60,
    });
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
  ])('with %s is rejected', async (_what, name, headers) => {
    const response = await askForToken(await start(), name, headers);

    expect(response.status).toBe(401);
    expect(response.headers.get('www-authenticate')).toBe('Basic realm="token service", charset="UTF-8"');
    expect(await response.json()).toEqual({ error: 'invalid_client' });
  });

  it('is written down without the credential', async () => {
    const service = await start({ now: () => START });

    await askForToken(service);
    await askForToken(service, CLEANSING, basic(GLOBEX));
    await askForToken(service, INSIGHTS, basic({ client_id: 'initech-id', secret: 'x' }));

    expect(service.requests).toEqual([
      { service: INSIGHTS, client: 'acme', at: START, ok: true },
      { service: CLEANSING, client: 'globex', at: START, ok: false },
      { service: INSIGHTS, client: undefined, at: START, ok: false },
    ]);
  });

  it.each([
    ['GET', '/customer-insights/auth/v1/token', 405],
    ['POST', '/customer-insights/v1/whoami', 405],
    ['GET', '/customer-insights/incident/down', 405],
    ['POST', '/customer-insights/incident/earthquake', 404],
    ['POST', '/customer-insights/incident/constructor', 404],
    ['POST', '/no-such-service/incident/down', 404],
    ['POST', '/customer-insights/oauth/token', 404],
    ['POST', '/no-such-service/auth/v1/token', 404],
    ['POST', '/constructor/auth/v1/token', 404],
    ['POST', '/', 404],
  ])('as %s %s is a %d', async (method, path, status) => {
    const service = await start();

    const response = await fetch(`${service.url}${path}`, { method, headers: basic(ACME) });

    expect(response.status).toBe(status);
    expect(service.requests).toEqual([]);
  });
});

it.each(['good-1', 'good-2'])('accepts a secret of the form that is given, from any client: %s', async (secret) => {
  const service = await start({ acceptedSecret: /^good-/ });
  const requests = [CLEANSING, INSIGHTS].map((name) =>
    askForToken(service, name, basic({ client_id: 'hooli', secret })),
  );
  const [cleansing, insights] = await Promise.all(requests);

  expect([cleansing?.status, insights?.status]).toEqual([200, 200]);
  expect((await askForToken(service, INSIGHTS, basic({ client_id: 'hooli', secret: `not-${secret}` }))).status).toBe(
    401,
  );
});

describe('an issued token', () => {
  it('is accepted by its service until its end', async () => {
    let now = START;
    const service = await start({ now: () => now, lifetimeSeconds: 60 });
    const token = await tokenOf(await askForToken(service));

    const accepted = await whoAmI(service, INSIGHTS, token);
    expect(await accepted.json()).toEqual({ service: INSIGHTS, client: 'acme' });
    expect((await whoAmI(service, CLEANSING, token)).status).toBe(401);

    now += 60_000;
    expect((await whoAmI(service, INSIGHTS, token)).status).toBe(401);
  });

  it.each(['made-up', ''])('that was never issued is refused: "%s"', async (token) => {
    expect((await whoAmI(await start(), INSIGHTS, token)).status).toBe(401);
  });
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
    service.respondWith(undefined, { status: 500 });
    service.respondWith(INSIGHTS, { status: 502 });
    service.respondWith({ service: INSIGHTS, client: 'acme' }, { status: 503 });
    const statuses = [(await askForToken(service)).status];

    service.respondWith({ service: INSIGHTS, client: 'acme' }, undefined);
    statuses.push((await askForToken(service)).status);
    service.respondWith(INSIGHTS, undefined);
    statuses.push((await askForToken(service)).status);
    service.respondWith(undefined, undefined);
    statuses.push((await askForToken(service)).status);

    expect(statuses).toEqual([503, 502, 500, 200]);
  });
});

describe('trouble', () => {
  it.each([
    ['hang', { kind: 'timeout', code: 'ETIMEDOUT', status: undefined }],
    ['reset', { kind: 'broken', code: 'ECONNRESET', status: undefined }],
  ] as const)('of the kind "%s" hits its service until it ends', async (fault, expected) => {
    const service = await start();

    service.fault(fault, INSIGHTS);
    expect(await seen(service, expected.kind === 'timeout' ? 1_000 : 60_000)).toMatchObject(expected);
    expect((await askForToken(service, CLEANSING)).status).toBe(200);

    service.fault(undefined, INSIGHTS);
    expect(await seen(service)).toEqual({ status: 200 });
  });

  it('can be latency', async () => {
    const service = await start();

    service.latency(10_000, INSIGHTS);
    expect(await seen(service, 250)).toMatchObject({ kind: 'timeout' });

    service.latency(undefined, INSIGHTS);
    expect(await seen(service)).toEqual({ status: 200 });
  });
});

describe('an incident', () => {
  it.each([
    ['reject', { status: 401 }],
    ['throttle', { status: 429 }],
    ['slow', { kind: 'timeout' }],
    ['down', { kind: 'broken', code: 'ECONNRESET' }],
  ])('"%s" hits its service until it recovers', async (name, expected) => {
    const service = await start();

    expect((await play(service, name)).status).toBe(204);
    expect(await seen(service, name === 'slow' ? 250 : 60_000)).toMatchObject(expected);
    expect((await askForToken(service, CLEANSING)).status).toBe(200);

    await play(service, 'recover');
    expect(await seen(service)).toEqual({ status: 200 });
  });

  it('that comes after another one takes its place', async () => {
    const service = await start();
    for (const name of ['slow', 'throttle', 'reject']) await play(service, name);
    expect(await seen(service)).toMatchObject({ status: 401 });
  });
});
