import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type FunctionUrl, startFunctionUrl } from '../../../bin/local/function-url/server.ts';
import { createTokenBroker, type TokenBrokerOptions } from '../../../client/token-broker.ts';
import { ACCESS_TOKEN, issued } from './broker-answers.ts';

const NOW = Date.parse('2026-11-01T10:00:00.000Z');
const MINUTE_MS = 60_000;
const PAIR = { client: 'acme', service: 'customer-insights' };
const KEY = { accessKeyId: 'AKIDBILLING', secretAccessKey: 'billing-secret', sessionToken: 'billing-session' };
const FORBIDDEN_KEY = { accessKeyId: 'AKIDFORBIDDEN', secretAccessKey: 'forbidden-secret' };

describe('a client in front of a Function URL with IAM auth', () => {
  let functionUrl: FunctionUrl;
  let events: { readonly body?: string | undefined }[];

  beforeEach(async () => {
    events = [];
    functionUrl = await start();
  });
  afterEach(() => functionUrl.close());

  function start(onStatus?: (status: number) => void): Promise<FunctionUrl> {
    return startFunctionUrl({
      port: 0,
      now: () => NOW,
      callers: [
        { role: 'arn:aws:iam::111111111111:role/billing', ...KEY },
        { role: 'arn:aws:iam::111111111111:role/forbidden', ...FORBIDDEN_KEY, mayInvoke: false },
      ],
      handler: async (event) => {
        events.push(event);
        return { statusCode: 200, body: JSON.stringify(issued(NOW)) };
      },
      onAnswer: ({ status }) => onStatus?.(status),
    });
  }

  function ask(options: Partial<TokenBrokerOptions> = {}) {
    return createTokenBroker({
      url: functionUrl.url,
      credentials: KEY,
      now: () => NOW,
      maxAttempts: 1,
      ...options,
    }).token(PAIR);
  }

  it('reaches the function', async () => {
    expect(await ask()).toMatchObject({ accessToken: ACCESS_TOKEN });
    expect(JSON.parse(events[0]?.body ?? '')).toEqual(PAIR);
  });

  it.each<[string, string, Partial<TokenBrokerOptions>]>([
    ['aws-forbidden', 'a role that no policy allows', { credentials: FORBIDDEN_KEY }],
    ['aws-signature-mismatch', 'a wrong secret', { credentials: { ...KEY, secretAccessKey: 'billing-secret2' } }],
    ['aws-security-token-invalid', 'an unknown access key', { credentials: { ...KEY, accessKeyId: 'AKIDOTHER' } }],
    ['aws-security-token-invalid', 'no session token', { credentials: { ...KEY, sessionToken: undefined } }],
    ['aws-signature-expired', 'a clock six minutes behind', { now: () => NOW - 6 * MINUTE_MS }],
    ['aws-signature-not-yet-current', 'a clock six minutes ahead', { now: () => NOW + 6 * MINUTE_MS }],
    ['aws-wrong-scope', 'another region', { region: 'eu-west-1' }],
  ])('gets "%s" for %s', async (type, _, options) => {
    await expect(ask(options)).rejects.toMatchObject({ name: 'TokenBrokerError', type, status: 403 });
    expect(events).toEqual([]);
  });

  it.each([-6, 6])(
    'reaches the function although its clock is %d minutes off, and remembers the correction',
    async (minutes) => {
      const statuses: number[] = [];
      await functionUrl.close();
      functionUrl = await start((status) => statuses.push(status));
      const clock = { now: NOW + minutes * MINUTE_MS };
      const broker = createTokenBroker({ url: functionUrl.url, credentials: KEY, now: () => clock.now, cache: false });
      expect(await broker.token(PAIR)).toMatchObject({ expiresAt: clock.now + 3_599_000 });
      await broker.token(PAIR);
      expect(statuses).toEqual([403, 200, 200]);

      clock.now = NOW;
      await broker.token(PAIR);
      expect(statuses).toEqual([403, 200, 200, 403, 200]);
    },
  );

  it('gets "aws-throttled" while no concurrency is free', async () => {
    functionUrl.throttle(1);
    await expect(ask()).rejects.toMatchObject({ type: 'aws-throttled', status: 429, retryable: true });
  });
});
