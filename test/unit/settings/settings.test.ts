import { describe, expect, it } from 'vitest';
import { parseEnvironment, parseEnvironments, toBrokerSettings } from '../../../lib/settings/settings.ts';
import { exampleRule, exampleService } from '../../support/example.ts';
import { changed, exampleForm } from './example-form.ts';

const SERVICE = 'services/customer-insights';
const { authUrl } = exampleService();
const ROLES = ['a', 'b', 'c'].map((name) => `arn:aws:iam::111111111111:role/${name}`);
const ORGANIZATION = {
  ...exampleForm(),
  callers: 'organization',
  principalOrgId: 'o-a1b2c3d4e5',
  accessRules: [{ ...exampleForm().accessRules[0], clients: 'all', services: 'all', operations: ['token', 'check'] }],
};

describe('settings', () => {
  it('have a default for everything that is not required', () => {
    const service = { ...exampleService(), certificateAuthorities: [], clientHeaders: [], rejectedOn: [] };
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
    expect(parseEnvironment('test', form)).toMatchObject({ provisionedConcurrency: 5, vpc: { ...vpc, all: false } });
    const trail = { sealingKeyWriters: [], secretPolicyWriters: [] };
    expect(parseEnvironment('test', { ...form, trail: {} })).toMatchObject({ trail });
  });

  it.each<[what: string, path: string, value: unknown]>([
    ['tags like those of the stack', 'tags', { 'cost-environment': 'a', 'application-id': 'b', 'my-aws:x': 'c d' }],
    ['the shortest rate', 'health/every', 'rate(15 minutes)'],
    ['the longest address', 'health/notify', [`ops@${'a.'.repeat(124)}io`]],
    ['headers of several words', `${SERVICE}/headers`, { 'x-tenant': 'one two\tthree' }],
    ['headers like those of HTTP', `${SERVICE}/headers`, { 'my-host': 'a', 'host-x': 'b', 'my-te': 'c', 'te-x': 'd' }],
    ['milliseconds', `${SERVICE}/response`, { lifetimeUnit: 'milliseconds', lifetimeMember: 'data.expires' }],
    ['the largest canary', 'canary', { percent: 99, minutes: 60 }],
    ['the smallest canary', 'canary', { percent: 1, minutes: 1 }],
    ['no canary', 'canary', 'off'],
    ['all the instances of an account', 'reservedConcurrency', 10_000],
    ['no instance', 'reservedConcurrency', 0],
    ['the most instances for health', 'healthConcurrency', 100],
    ['ten years for a credential', 'credentialMaxAgeDays', 3_650],
    ['a day for a credential', 'credentialMaxAgeDays', 1],
    ['the strictest service level', 'slo', { answered: 99.99, withinMs: 10 }],
    ['the loosest service level', 'slo', { answered: 95, withinMs: 15_000 }],
    ['the shortest times', SERVICE, { authUrl, requestTimeoutMs: 100, assumedLifetimeSeconds: 10 }],
    ['the longest times', SERVICE, { authUrl, requestTimeoutMs: 6_000, maxLifetimeSeconds: 2_592_000 }],
    ['callers of an organization, at both operations', '', ORGANIZATION],
    ['a multi-region key', 'keyArn', `arn:aws:kms:eu-west-1:111111111111:key/mrk-${'0123456789abcdef'.repeat(2)}`],
    ['three writers', 'trail', { sealingKeyWriters: ROLES, secretPolicyWriters: ROLES }],
    ['parameters that resemble a credential', `${SERVICE}/parameters`, { my_username: 'a', secrets: 'b' }],
    ['the client id in parameters', `${SERVICE}/parameters`, { client_id: '{client_id}', user: '{client_id}' }],
    ['parameters in JSON', `${SERVICE}/parametersIn`, 'json'],
    ['a query in the path', `${SERVICE}/tokenPath`, '/token?grant_type=client_credentials&x=%20'],
    ['headers of each client', `${SERVICE}/clientHeaders`, ['x-api-key', 'X-Gateway-Secret']],
    ['words that reject', `${SERVICE}/rejectedOn`, ['incorrect_client_credentials', 'E-1001']],
    ['a token in a header', `${SERVICE}/response`, { tokenHeader: 'X-Auth-Token', lifetimeMember: false }],
    ['the values of a second kind', SERVICE, { authUrl, basicEncoding: 'form', parametersIn: 'body' }],
    ['the first values by name', SERVICE, { authUrl, basicEncoding: 'raw', parametersIn: 'query' }],
    ['a tokenPath of / and a base that ends in it', SERVICE, { authUrl: `${authUrl}/`, tokenPath: '/' }],
    ['a lifetime of the maximum', `${SERVICE}/tokenLifetimeSeconds`, 86_400],
    ['members next to the token', `${SERVICE}/response`, { tokenMember: 'data.key', passThrough: ['tier', 'da'] }],
    ['members next to a token of the usual name', `${SERVICE}/response/passThrough`, ['tier']],
  ])('may have %s', (_, path, value) => {
    const form = path === '' ? value : changed(exampleForm(), path, value);
    expect(parseEnvironments({ test: form })).toMatchObject([form]);
  });

  it.each(['a'.repeat(20), 'prod-eu', 'my-local', 'locals'])('may be those of an environment %s', (name) => {
    expect(parseEnvironment(name, exampleForm()).name).toBe(name);
  });

  it('may be those of a region in China', () => {
    const arn = (service: string, rest: string) => `arn:aws-cn:${service}:cn-north-1:111111111111:${rest}`;
    const logDestinationArn = arn('logs', 'destination:siem');
    const accessRules = [{ ...exampleForm().accessRules[0], role: 'arn:aws-cn:iam::111111111111:role/billing' }];
    const form = { ...exampleForm(), region: 'cn-north-1', accessRules, logDestinationArn };
    expect(parseEnvironment('test', form)).toMatchObject({ logDestinationArn });
  });

  it('reach the token function in its form, with the organization and the ids of roles when they are pinned', () => {
    const plain = parseEnvironment('test', exampleForm());
    expect(Object.keys(toBrokerSettings(plain))).toEqual(['services', 'accessRules', 'provenForSeconds']);
    const pinned = changed(exampleForm(), 'accessRules/0/roleId', 'AROAEXAMPLEEXAMPLE12');
    const environment = parseEnvironment('test', changed(pinned, 'principalOrgId', 'o-exampleorg'));
    const { principalOrgId, accessRules, sloWithinMs } = toBrokerSettings({ ...environment, slo: { withinMs: 500 } });
    const [rule] = accessRules;
    expect([principalOrgId, rule?.roleId, sloWithinMs]).toEqual(['o-exampleorg', 'AROAEXAMPLEEXAMPLE12', 500]);
  });

  it.each([
    ['rate(90 minutes)', 5_400],
    ['rate(1 day)', 86_400],
  ])('make a token prove its credential until the next check: with %s for %d s', (every, seconds) => {
    const environment = parseEnvironment('test', changed(exampleForm(), 'health', { every }));
    expect(toBrokerSettings(environment).provenForSeconds).toBe(seconds);
  });
});
