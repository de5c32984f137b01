import { expect, it } from 'vitest';
import { createRequestFeed } from '../../../bin/local/page/feed.ts';
import { describeBroker } from '../../../bin/local/page/overview.ts';
import { parseLocalConfig } from '../../../lib/settings/local-config.ts';

const ME = 'arn:aws:iam::111111111111:role/team/me';

it('the page is told what is running and who may ask for what, and nothing of what is sent to the services', () => {
  const config = parseLocalConfig({
    services: {
      billing: {
        authUrl: 'https://auth.example.com',
        tokenPath: '/oauth/token',
        parameters: { api_key: 'marked-parameter' },
        headers: { 'x-api-key': 'marked-header' },
      },
      orders: { authUrl: 'https://orders.example.com' },
    },
    accessRules: [
      { role: ME, clients: ['acme', 'umbrella'], services: ['billing'] },
      { role: ME, clients: 'all', services: ['orders'], operations: ['check'] },
    ],
    callers: [{ role: ME, accessKeyId: 'AKIDME', secretAccessKey: 'marked-key' }],
    credentials: { hooli: { client_id: 'marked-id', secret: 'marked-secret', services: 'all' } },
  });
  const running = [{ name: 'the broker', url: 'http://127.0.0.1:1' }];
  const stored = [{ name: 'hooli' }, { name: 'acme', state: 'stopped' as const }];

  expect(describeBroker({ config, running, clients: () => stored })).toEqual({
    running,
    clients: [{ name: 'acme', state: 'stopped' }, { name: 'hooli' }, { name: 'umbrella' }],
    callers: [
      {
        id: 'AKIDME',
        name: 'me',
        role: ME,
        allowed: [
          ...['token acme/billing', 'token umbrella/billing'],
          ...['check acme/orders', 'check hooli/orders', 'check umbrella/orders'],
        ],
      },
    ],
    services: [
      { name: 'billing', url: 'https://auth.example.com/oauth/token' },
      { name: 'orders', url: 'https://orders.example.com/auth/v1/token' },
    ],
  });
});

/** An audit line as the broker writes it. */
function line(changes: object = {}): string {
  return JSON.stringify({
    _aws: { Timestamp: 1_000 },
    outcome: 'issued',
    Requests: 1,
    Duration: 12.4,
    requestId: 'request-1',
    operation: 'token',
    caller: 'aws:111111111111:billing/local-session',
    pair: 'acme/customer-insights',
    cache: 'none',
    fingerprint: 'marked-fingerprint',
    cause: 'marked-cause',
    ...changes,
  });
}

const SEEN = {
  at: 1_000,
  outcome: { word: 'issued', kind: 'good' },
  caller: 'billing',
  subject: 'acme/customer-insights',
  origin: 'token request',
  milliseconds: 12,
};

it.each([
  ['a token from memory', { cache: 'memory' }, { origin: 'from memory' }],
  ['a check', { operation: 'check', outcome: 'accepted', cache: undefined }, { origin: 'check' }],
  ['a denial', { outcome: 'access-denied' }, { outcome: { word: 'access-denied', kind: 'refused' } }],
  ['a rejection', { outcome: 'credential-rejected' }, { outcome: { word: 'credential-rejected', kind: 'bad' } }],
  ['a request for no pair', { pair: undefined, operation: undefined, caller: undefined }, { subject: '' }],
])('the list of requests tells of %s', (_, changes, expected) => {
  const feed = createRequestFeed();
  feed.audit(line(changes));
  expect(feed.recent()).toMatchObject([expected]);
});

it('the list of requests has each request once, those too that AWS answered by itself, and no line about others', () => {
  const feed = createRequestFeed(() => 2_000);
  const answered = { method: 'POST', path: '/token', status: 200, failure: undefined };
  feed.audit(line());
  feed.audit(line({ Requests: undefined, operation: 'health', requestId: 'request-0' }));
  feed.answered({ ...answered, requestId: 'request-1' });
  feed.answered({ ...answered, requestId: 'request-2', status: 403 });
  feed.answered({ ...answered, requestId: 'request-3', status: 502, failure: new Error('marked-failure') });

  expect(feed.recent()).toEqual([
    { at: 2_000, outcome: { word: 'function failed', kind: 'bad' }, subject: 'POST /token' },
    { at: 2_000, outcome: { word: 'AWS answered 403', kind: 'bad' }, subject: 'POST /token' },
    SEEN,
  ]);
});

it('the list of requests has the last thirty, newest first', () => {
  const feed = createRequestFeed();
  for (let count = 0; count < 35; count++) feed.audit(line({ requestId: `${count}`, Duration: count }));
  expect(feed.recent().map(({ milliseconds }) => milliseconds)).toEqual(Array.from({ length: 30 }, (_, n) => 34 - n));
});
