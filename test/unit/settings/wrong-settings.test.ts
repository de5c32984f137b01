import { describe, expect, it } from 'vitest';
import { parseEnvironment, parseEnvironments } from '../../../lib/settings/environment.ts';
import { changed, exampleForm, faultsIn } from './example-form.ts';

const ROLE = 'arn:aws:iam::111111111111:role/billing';

const NAME = 'must be 1 to 63 letters, digits or . _ - and start with a letter or digit';
const RATE = 'must be a rate such as rate(1 hour) or rate(30 minutes)';
const RATE_RANGE = 'must be between rate(15 minutes) and rate(1 day)';
const EMAIL = 'must be an e-mail address such as ops@example.com';
const MEMBERS =
  'account, region, services, accessRules, health, principalOrgId, alarms, canary, reservedConcurrency, healthConcurrency, provisionedConcurrency, credentialMaxAgeDays, logRetentionDays, tracing, trail, vpc, tags, keyArn';
const ROLE_FORM = 'arn:aws:iam::<account>:role/<name>';

describe('wrong settings', () => {
  it.each<[path: string, value: unknown, fault: string]>([
    ['account', undefined, 'account: is missing'],
    ['account', 111111111111, 'account: must be a string'],
    ['account', '11111111111', 'account: must be 12 digits in quotes'],
    ['region', 'Europe', 'region: must be an AWS region such as eu-west-1'],
    ['acount', '1', `acount: is not a known member (known: ${MEMBERS})`],
    ['services', undefined, 'services: is missing'],
    ['services', {}, 'services: must have at least one service'],
    ['services', [], 'services: must be an object'],
    ['services/customer insights', { authUrl: 'https://auth.example.com' }, `services["customer insights"]: ${NAME}`],
    ['services/all', { authUrl: 'https://auth.example.com' }, "services.all: must not be called 'all'"],
    ['services/customer-insights', 'https://auth.example.com', 'services.customer-insights: must be an object'],
    ['principalOrgId', 'ou-1234-12345678', 'principalOrgId: must be the id of an AWS organization: o-…'],
    ['accessRules/0/roleId', 'AIDAEXAMPLEEXAMPLE12', 'accessRules[0].roleId: must be the unique id of a role: AROA…'],
    ['accessRules', undefined, 'accessRules: is missing'],
    ['accessRules/0', ROLE, 'accessRules[0]: must be an object'],
    ['accessRules/0/role', '*', 'accessRules[0].role: must name one role: no * and no ?'],
    [
      'accessRules/0/role',
      'arn:aws:iam::111111111111:role/*',
      'accessRules[0].role: must name one role: no * and no ?',
    ],
    [
      'accessRules/0/role',
      'arn:aws:sts::111111111111:assumed-role/billing/run-1',
      `accessRules[0].role: must be the role itself, not a session of it: ${ROLE_FORM}`,
    ],
    [
      'accessRules/0/role',
      'arn:aws:iam::111111111111:user/eve',
      `accessRules[0].role: must be a role, not a user: ${ROLE_FORM}`,
    ],
    [
      'accessRules/0/role',
      'arn:aws:iam::111111111111:root',
      `accessRules[0].role: must be a role, not a whole account: ${ROLE_FORM}`,
    ],
    ['accessRules/0/role', 'billing', `accessRules[0].role: must be the ARN of an IAM role: ${ROLE_FORM}`],
    ['accessRules/0/role', `${ROLE}\n`, `accessRules[0].role: must be the ARN of an IAM role: ${ROLE_FORM}`],
    [
      'accessRules/0/role',
      'arn:aws:iam::1111:role/billing',
      `accessRules[0].role: must be the ARN of an IAM role: ${ROLE_FORM}`,
    ],
    [
      'accessRules/0/role',
      'arn:aws-cn:iam::111111111111:role/billing',
      "accessRules[0].role: must start with arn:aws: like the region's own",
    ],
    ['accessRules/0/clients', 'acme', "accessRules[0].clients: must be 'all' or a list of names"],
    ['accessRules/0/clients', [], 'accessRules[0].clients: must not be empty'],
    ['accessRules/0/clients', ['acme', 'acme'], 'accessRules[0].clients[1]: is there twice'],
    ['accessRules/0/clients', ['all'], "accessRules[0].clients[0]: must stand alone, not in a list: 'all'"],
    ['accessRules/0/clients', ['*'], `accessRules[0].clients[0]: ${NAME}`],
    ['accessRules/0/clients', undefined, 'accessRules[0].clients: is missing'],
    [
      'accessRules/0/services',
      ['payments'],
      'accessRules[0].services[0]: is not one of the services (customer-insights, merchant-payment-cleansing)',
    ],
    ['accessRules/0/operations', [], 'accessRules[0].operations: must not be empty'],
    ['accessRules/0/operations', ['admin'], "accessRules[0].operations[0]: must be 'token' or 'check'"],
    [
      'accessRules/0/client',
      'acme',
      'accessRules[0].client: is not a known member (known: role, roleId, clients, services, operations)',
    ],
    ['health', 'rate(1 hour)', 'health: must be an object'],
    ['health/evry', 'rate(1 hour)', 'health.evry: is not a known member (known: every, notify)'],
    ['health/every', 3_600, 'health.every: must be a string'],
    ['health/every', 'hourly', `health.every: ${RATE}`],
    ['health/every', 'cron(0 * * * ? *)', `health.every: ${RATE}`],
    ['health/every', 'rate(1 hours)', `health.every: ${RATE}`],
    ['health/every', 'rate(2 hour)', `health.every: ${RATE}`],
    ['health/every', 'rate(0 minutes)', `health.every: ${RATE}`],
    ['health/every', 'rate(1.5 hours)', `health.every: ${RATE}`],
    ['health/every', 'rate(1 week)', `health.every: ${RATE}`],
    ['health/every', 'rate(1 hour)\n', `health.every: ${RATE}`],
    ['health/every', 'rate(1 minute)', `health.every: ${RATE_RANGE}`],
    ['health/every', 'rate(14 minutes)', `health.every: ${RATE_RANGE}`],
    ['health/every', 'rate(25 hours)', `health.every: ${RATE_RANGE}`],
    ['health/every', 'rate(2 days)', `health.every: ${RATE_RANGE}`],
    ['health/notify', 'ops@example.com', 'health.notify: must be a list'],
    ['health/notify', ['ops@example.com', 'ops@example.com'], 'health.notify[1]: is there twice'],
    ['health/notify', ['ops'], `health.notify[0]: ${EMAIL}`],
    ['health/notify', ['ops@localhost'], `health.notify[0]: ${EMAIL}`],
    ['health/notify', ['ops@example.com, me@example.com'], `health.notify[0]: ${EMAIL}`],
    ['health/notify', ['Ops <ops@example.com>'], `health.notify[0]: ${EMAIL}`],
    ['health/notify', ['ops@example..com'], `health.notify[0]: ${EMAIL}`],
    ['health/notify', ['ops@example.com\n'], `health.notify[0]: ${EMAIL}`],
    ['health/notify', [`${'o'.repeat(65)}@example.com`], `health.notify[0]: ${EMAIL}`],
    ['health/notify', ['https://example.com/hook'], `health.notify[0]: ${EMAIL}`],
  ])('%s = %j is refused with its path and the reason', (path, value, fault) => {
    expect(faultsIn(() => parseEnvironment('test', changed(exampleForm(), path, value)))).toEqual([
      `environments.test.${fault}`,
    ]);
  });

  it('are all named at once, beside every other mistake', () => {
    const forms = {
      dev: {
        account: 1,
        colour: 'red',
        services: { insights: { authUrl: 'http://auth.example.com', attemptTimeoutMs: 5_000, retries: 3 } },
        accessRules: [
          { role: ROLE, clients: ['a b'], services: 'all' },
          { role: ROLE, clients: 'all', services: ['x'] },
        ],
      },
      Prod: { ...exampleForm(), region: undefined },
    };

    expect(faultsIn(() => parseEnvironments(forms)).map((line) => line.split(': ')[0])).toEqual([
      'environments.dev.account',
      'environments.dev.region',
      'environments.dev.services.insights.authUrl',
      'environments.dev.services.insights.retries',
      'environments.dev.services.insights.attemptTimeoutMs',
      'environments.dev.accessRules[0].clients[0]',
      'environments.dev.colour',
      'environments.dev.accessRules[1].services[0]',
      'environments.Prod',
      'environments.Prod.region',
    ]);
  });

  it.each([undefined, null, 'dev', 7, []])('are no object but %j', (input) => {
    expect(faultsIn(() => parseEnvironment('test', input))).toEqual([
      expect.stringMatching(/^environments\.test: (is missing|must be an object)$/),
    ]);
  });

  it.each(['', 'Dev', 'dev/eu', '1st', 'dev-', 'a'.repeat(21), 'dev*'])('call an environment "%s"', (name) => {
    expect(faultsIn(() => parseEnvironment(name, exampleForm()))).toEqual([
      expect.stringMatching(/: must be called by at most 20 lower-case letters, digits and hyphens/),
    ]);
  });

  it.each(['health-dev'])('would give two functions one name: an environment called "%s"', (name) => {
    expect(faultsIn(() => parseEnvironment(name, exampleForm()))).toEqual([
      `environments.${name}: must not be called health-…`,
    ]);
  });
});

describe('access rules that are wrong together', () => {
  const rule = { role: ROLE, clients: ['acme', 'globex'], services: 'all', operations: ['token', 'check'] };
  const faults = (...accessRules: unknown[]) =>
    faultsIn(() => parseEnvironment('test', { ...exampleForm(), accessRules }));

  it('are refused when one says the same as another, in any order', () => {
    expect(faults(rule, { ...rule, clients: ['globex', 'acme'], operations: ['check', 'token'] })).toEqual([
      'environments.test.accessRules[1]: says the same as accessRules[0]',
    ]);
  });

  it('are refused when a default makes them the same', () => {
    expect(faults({ ...rule, operations: undefined }, { ...rule, operations: ['token'] })).toHaveLength(1);
  });

  it('are refused when two roles differ only by their path', () => {
    const path = 'arn:aws:iam::111111111111:role/team-a/billing';
    expect(faults(rule, { ...rule, role: path, clients: ['acme'] })).toEqual([
      'environments.test.accessRules[1].role: differs only by its path from the role of accessRules[0], which the broker cannot see',
    ]);
  });

  it.each([
    ['other clients', { clients: ['acme'] }],
    ['other services', { services: ['customer-insights'] }],
    ['other operations', { operations: ['token'] }],
    ['another account', { role: 'arn:aws:iam::222222222222:role/billing' }],
    ['another role', { role: 'arn:aws:iam::111111111111:role/Billing' }],
  ])('are fine when a second one has %s', (_, changes) => {
    expect(faults(rule, { ...rule, ...changes })).toEqual([]);
  });
});
