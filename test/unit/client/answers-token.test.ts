import { describe, expect, it } from 'vitest';
import type { TokenOptions } from '../../../client/token-broker.ts';
import { ACCESS_TOKEN, issued } from './broker-answers.ts';
import { NOW, PAIR, startClientWorld } from './client-world.ts';
import { type Answer, answerWith } from './loopback-server.ts';

let server: Awaited<ReturnType<typeof startClientWorld>>['server'];

async function ask(answer: Answer, options: TokenOptions = PAIR) {
  const world = await startClientWorld(answer, { maxAttempts: 1 });
  server = world.server;
  return world.broker.token(options);
}

describe('asking for a token', () => {
  it('sends the pair as JSON, and no member that the caller left out', async () => {
    await ask(answerWith(200, issued(NOW)));
    const [request] = server.requests ?? [];
    expect(request).toMatchObject({ method: 'POST', url: '/token' });
    expect(request?.headers['content-type']).toBe('application/json');
    expect(JSON.parse(request?.body ?? '')).toEqual(PAIR);
  });

  it('sends the wanted life time and the refused fingerprint', async () => {
    await ask(answerWith(200, issued(NOW)), { ...PAIR, minTtl: 600, refused: '0123456789abcdef' });
    expect(JSON.parse(server.requests[0]?.body ?? '')).toEqual({ ...PAIR, min_ttl: 600, refused: '0123456789abcdef' });
  });

  it('gives the token as the broker issued it', async () => {
    const token = await ask(answerWith(200, issued(NOW, { scope: 'read', region_id: 7 })));
    expect(token).toMatchObject({
      accessToken: ACCESS_TOKEN,
      tokenType: 'Bearer',
      expiresAt: NOW + 3_599_000,
      expiresAtBroker: issued(NOW).expires_at,
      expirySource: 'response',
      fingerprint: '0123456789abcdef',
      scope: 'read',
      passThrough: { region_id: 7 },
    });
  });

  it('has no scope when the service gave none', async () => {
    expect(await ask(answerWith(200, issued(NOW)))).not.toHaveProperty('scope');
  });

  it.each([
    ['behind', 240_000],
    ['ahead', -240_000],
  ])("counts the life time on this machine's clock when it is %s", async (_, brokerIsLaterBy) => {
    const token = await ask(answerWith(200, issued(NOW + brokerIsLaterBy)));
    expect(token.expiresAt).toBe(NOW + 3_599_000);
  });

  it.each([
    ['HTML', '<html>marked-answer</html>', /not a JSON object/],
    ['nothing', '', /not a JSON object/],
    ['an array', [issued(NOW)], /not a JSON object/],
    ['null', null, /not a JSON object/],
    ['no token', issued(NOW, { access_token: undefined }), /access_token/],
    ['an empty token', issued(NOW, { access_token: '' }), /access_token/],
    ['a token that no header can carry', issued(NOW, { access_token: 'marked-answer\r\n' }), /access_token/],
    ['no token type', issued(NOW, { token_type: '' }), /token_type/],
    ['a life time in words', issued(NOW, { expires_in: '3599' }), /expires_in/],
    ['a negative life time', issued(NOW, { expires_in: -1 }), /expires_in/],
    ['a life time beyond all dates', issued(NOW, { expires_in: Number.MAX_SAFE_INTEGER }), /expires_in/],
    ['half a second', issued(NOW, { expires_in: 0.5 }), /expires_in/],
    ['an end that is no date', issued(NOW, { expires_at: 'marked-answer' }), /expires_at/],
    ['no source of the expiry', issued(NOW, { expiry_source: undefined }), /expiry_source/],
    ['a fingerprint that is a token', issued(NOW, { fingerprint: 'marked-answer' }), /fingerprint/],
    ['a scope that is a list', issued(NOW, { scope: ['marked-answer'] }), /scope/],
  ])('refuses a 200 with %s, and does not quote the answer', async (_, body, message) => {
    const error = await ask(answerWith(200, body)).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ name: 'TokenBrokerError', type: 'unexpected-answer', status: 200, retryable: false });
    expect(error).toHaveProperty('message', expect.stringMatching(message));
    expect(error).toHaveProperty('message', expect.not.stringContaining('marked'));
  });
});
