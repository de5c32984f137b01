import { expect, it } from 'vitest';
import type { LocalBroker } from '../../../bin/local/broker.ts';
import { describeBroker } from '../../../bin/local/page/overview.ts';
import { parseLocalConfig } from '../../../lib/settings/local-config.ts';

const ME = 'arn:aws:iam::111111111111:role/team/me';

/** The page must show no value with `marked` in it. */
const CONFIG = parseLocalConfig({
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
  credentials: { globex: { client_id: 'marked-id', secret: 'marked-secret' } },
});

const BROKER: LocalBroker = {
  url: 'http://127.0.0.1:1',
  config: CONFIG,
  brokerKey: undefined,
  controlUrl: 'http://127.0.0.1:2',
  tokenServiceUrl: undefined,
  standIns: ['http://127.0.0.1:3'],
  moved: [],
  clients: () => [{ name: 'acme', state: 'stopped' }, { name: 'hooli' }],
  eventsSettled: async () => undefined,
  close: async () => undefined,
};

const OVERVIEW = describeBroker(BROKER, {
  AWS_ENDPOINT_URL_SECRETS_MANAGER: 'https://me:marked-password@secrets.example.com/path',
  AWS_ENDPOINT_URL_DYNAMODB: 'http://127.0.0.1:3',
});

it('tells which AWS endpoints are not its own, and names no stand-in that does not run', () => {
  expect(OVERVIEW.running).toEqual([
    { name: 'Broker', url: 'http://127.0.0.1:1', detail: expect.any(String) },
    { name: 'Secrets Manager', url: 'https://secrets.example.com', detail: 'yours' },
    { name: 'DynamoDB', url: 'http://127.0.0.1:3', detail: 'stand-in' },
    { name: 'Schedule', url: 'http://127.0.0.1:2', detail: expect.any(String) },
  ]);
});

it('knows the clients that have a secret, those of the configuration, and those that only a rule names', () => {
  expect(OVERVIEW.clients).toEqual([
    { name: 'acme', state: 'stopped' },
    { name: 'globex' },
    { name: 'hooli' },
    { name: 'umbrella' },
  ]);
});

it('tells of each caller what the broker would let it do', () => {
  expect(OVERVIEW.callers).toEqual([
    {
      id: 'AKIDME',
      name: 'me',
      role: ME,
      allowed: [
        'token acme/billing',
        'token umbrella/billing',
        'check acme/orders',
        'check globex/orders',
        'check hooli/orders',
        'check umbrella/orders',
      ],
    },
  ]);
});

it('names each token endpoint, and nothing of what is sent there', () => {
  expect(OVERVIEW.services).toEqual([
    { name: 'billing', url: 'https://auth.example.com/oauth/token', detail: '' },
    { name: 'orders', url: 'https://orders.example.com/auth/v1/token', detail: '' },
  ]);
  expect(JSON.stringify(OVERVIEW)).not.toContain('marked');
});
