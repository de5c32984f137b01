import { describe, expect, it } from 'vitest';
import type { Service } from '../../../functions/broker/service.ts';
import { settingsDigest } from '../../../functions/variables.ts';
import { parseEnvironment, toBrokerSettings } from '../../../lib/settings/settings.ts';
import { exampleForm } from '../settings/example-form.ts';

const SERVICE: Required<Service> = {
  authUrl: 'https://auth.example.com',
  tokenPath: '/auth/v1/token',
  basicEncoding: 'raw',
  parameters: { grant_type: 'client_credentials', scope: 'read' },
  parametersIn: 'query',
  headers: { 'x-channel': 'web' },
  clientHeaders: ['x-api-key'],
  response: { tokenMember: 'token', lifetimeMember: 'expiresIn', lifetimeUnit: 'seconds', passThrough: ['id'] },
  tokenLifetimeSeconds: 3_600,
  assumedLifetimeSeconds: 300,
  maxLifetimeSeconds: 86_400,
  rejectedOn403: false,
  rejectedOn: ['bad_client'],
  singleActiveToken: false,
  requestTimeoutMs: 4_000,
  certificateAuthorities: ['a certificate'],
};

describe('the digest of a service’s settings', () => {
  // A hold ends when an operator deploys another value of any of them.
  it.each(Object.keys(SERVICE))('changes with the member %s', (name) => {
    expect(settingsDigest({ ...SERVICE, [name]: 'another' })).not.toBe(settingsDigest(SERVICE));
  });

  it('is that of 1.1.0 for its settings, so that no hold ends with the upgrade', () => {
    const { services } = toBrokerSettings(parseEnvironment('test', exampleForm()));
    expect(Object.values(services).map(settingsDigest)).toEqual(Array(2).fill('4251360505631fd9'));
  });

  it('does not depend on the order of members, at any depth', () => {
    const reversed = (value: object) => Object.fromEntries(Object.entries(value).toReversed());
    const parts = { parameters: reversed(SERVICE.parameters), response: reversed(SERVICE.response) };
    expect(settingsDigest({ ...reversed(SERVICE), ...parts } as Service)).toBe(settingsDigest(SERVICE));
  });
});
