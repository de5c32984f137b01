import { describe, expect, it } from 'vitest';
import { parseEnvironment, toBrokerSettings } from '../../../lib/settings/settings.ts';
import { exampleRule, exampleService } from '../../support/example.ts';
import { changed, exampleForm } from './example-form.ts';

describe('settings', () => {
  it('have a default for everything that is not required', () => {
    const service = { ...exampleService(), certificateAuthorities: [] };
    expect(parseEnvironment('test', exampleForm())).toEqual({
      name: 'test',
      folder: '.',
      account: '111111111111',
      region: 'eu-west-1',
      services: { 'customer-insights': service, 'merchant-payment-cleansing': service },
      accessRules: [exampleRule()],
      health: { every: 'rate(1 hour)', notify: [] },
      callers: 'accounts',
      alarms: { off: [] },
      canary: { percent: 10, minutes: 5 },
      reservedConcurrency: 'none',
      healthConcurrency: 'none',
      tags: {},
      provisionedConcurrency: 0,
      credentialMaxAgeDays: 365,
      logRetentionDays: 365,
      tracing: false,
      trail: 'off',
      guarded: false,
    });
  });

  it('may use a limit to the full: all reserved instances stand ready, in sixteen subnets', () => {
    const subnetIds = Array.from({ length: 16 }, (_, index) => `subnet-${10_000_000 + index}`);
    const vpc = { subnetIds, securityGroupIds: ['sg-0123456789abcdef0'] };
    const form = { ...exampleForm(), reservedConcurrency: 5, provisionedConcurrency: 5, vpc };
    expect(parseEnvironment('test', form)).toMatchObject({ provisionedConcurrency: 5, vpc });
  });

  it('reach the token function in its form, with the organization and the ids of roles when they are pinned', () => {
    const plain = parseEnvironment('test', exampleForm());
    expect(Object.keys(toBrokerSettings(plain))).toEqual(['services', 'accessRules', 'provenForSeconds']);
    const pinned = changed(exampleForm(), 'accessRules/0/roleId', 'AROAEXAMPLEEXAMPLE12');
    const environment = parseEnvironment('test', changed(pinned, 'principalOrgId', 'o-exampleorg'));
    const { principalOrgId, accessRules } = toBrokerSettings(environment);
    expect([principalOrgId, accessRules[0]?.roleId]).toEqual(['o-exampleorg', 'AROAEXAMPLEEXAMPLE12']);
  });

  it.each([
    ['rate(90 minutes)', 5_400],
    ['rate(1 day)', 86_400],
  ])('make a token prove its credential until the next check: with %s for %d s', (every, seconds) => {
    const environment = parseEnvironment('test', changed(exampleForm(), 'health', { every }));
    expect(toBrokerSettings(environment).provenForSeconds).toBe(seconds);
  });
});
