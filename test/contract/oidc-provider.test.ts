import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { createHttpsSender } from '../../functions/aws/https/sender.ts';
import { parseCredential } from '../../functions/broker/credential/credential.ts';
import { Redacted } from '../../functions/broker/redacted.ts';
import type { BasicEncoding } from '../../functions/broker/service.ts';
import { createTokenRequester } from '../../functions/broker/token-request/token-request.ts';
import { exampleService } from '../support/example.ts';
import { type OidcProvider, startOidcProvider } from '../support/services/oidc.ts';

const PLAIN = { client_id: 'acme', client_secret: 'plain-secret' };
const SPECIAL = { client_id: 'globex:1', client_secret: 's+e c%r:&t' };
const LOOKS_ENCODED = { client_id: 'initech', client_secret: '100%+secret' };

let provider: OidcProvider;
beforeAll(async () => {
  provider = await startOidcProvider({ clients: [PLAIN, SPECIAL, LOOKS_ENCODED] });
});
afterAll(() => provider.close());

/** The real rules and the real sender, against an OAuth server that this project did not write. */
async function request({ client_id, client_secret }: typeof PLAIN, basicEncoding: BasicEncoding) {
  const requestToken = createTokenRequester({
    send: createHttpsSender(),
    now: Date.now,
    sleep: (ms) => setTimeout(ms),
    random: Math.random,
  });
  const service = exampleService({
    authUrl: provider.url,
    tokenPath: '/token',
    basicEncoding,
    parameters: { grant_type: 'client_credentials' },
    parametersIn: 'body',
  });
  const text = new Redacted(JSON.stringify({ client_id, client_secret }));
  const credential = parseCredential(text, 'customer-insights', { basicEncoding, isOnlyService: true });
  const answer = await requestToken(service, credential, Date.now() + 10_000);
  if (!('response' in answer)) throw answer.problem;
  const { response } = answer;
  return { status: response.status, body: ANSWER.parse(JSON.parse(new TextDecoder().decode(response.body))) };
}

const ANSWER = z.object({
  access_token: z.string().optional(),
  token_type: z.string().optional(),
  expires_in: z.number().optional(),
  error: z.string().optional(),
});

it.each([
  ['in the form dialect', PLAIN, 'form'],
  ['in the form dialect with a secret full of special signs', SPECIAL, 'form'],
  ['in the raw dialect with a secret that needs no encoding', PLAIN, 'raw'],
] as const)('an OAuth server issues a token %s', async (_what, client, basicEncoding) => {
  const { status, body } = await request(client, basicEncoding);

  expect({ status, ...body }).toMatchObject({ status: 200, token_type: 'Bearer', expires_in: 600 });
  expect(await provider.issuedTo(body.access_token ?? '')).toBe(client.client_id);
});

it('an OAuth server that decodes the form dialect rejects a raw secret that looks encoded', async () => {
  expect(await request(LOOKS_ENCODED, 'raw')).toMatchObject({ body: { error: expect.stringMatching(/^invalid_/) } });
  expect(await request(LOOKS_ENCODED, 'form')).toMatchObject({ status: 200 });
});

it('an OAuth server rejects a wrong secret', async () => {
  const outcome = await request({ ...PLAIN, client_secret: 'wrong' }, 'form');

  expect(outcome).toEqual({ status: 401, body: { error: 'invalid_client' } });
});
