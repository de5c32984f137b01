import { describe, expect, it } from 'vitest';
import { parseEnvironment, parseEnvironments } from '../../lib/settings.ts';
import { changed, exampleForm, faultsIn } from './example-form.ts';

const INSIGHTS = 'services/customer-insights';
const ROLE = 'arn:aws:iam::111111111111:role/billing';

const NAME = 'must be 1 to 63 letters, digits or . _ - and start with a letter or digit';
const MEMBER = 'must be the name of a member, or names joined by dots such as data.token';
const PATH_CHARACTERS = "must hold only letters, digits and / . _ ~ : @ ! $ & ' ( ) * + , ; = -";
const PATH_QUERY = 'must not hold a query or a fragment: put a query into parameters';
const ROLE_FORM = 'arn:aws:iam::<account>:role/<name>';

describe('wrong settings', () => {
  it.each<[path: string, value: unknown, fault: string]>([
    ['account', undefined, 'account: is missing'],
    ['account', 111111111111, 'account: must be a string'],
    ['account', '11111111111', 'account: must be 12 digits in quotes'],
    ['region', 'Europe', 'region: must be an AWS region such as eu-west-1'],
    ['acount', '1', 'acount: is not a known member (known: account, region, services, accessRules)'],
    ['services', undefined, 'services: is missing'],
    ['services', {}, 'services: must have at least one service'],
    ['services', [], 'services: must be an object'],
    ['services/customer insights', { authUrl: 'https://auth.example.com' }, `services["customer insights"]: ${NAME}`],
    ['services/all', { authUrl: 'https://auth.example.com' }, "services.all: must not be called 'all'"],
    [INSIGHTS, 'https://auth.example.com', 'services.customer-insights: must be an object'],

    [`${INSIGHTS}/authUrl`, undefined, 'services.customer-insights.authUrl: is missing'],
    [`${INSIGHTS}/authUrl`, '', `services.customer-insights.authUrl: must not be empty: https://auth.example.com`],
    [
      `${INSIGHTS}/authUrl`,
      'http://auth.example.com',
      `services.customer-insights.authUrl: must be an https URL (got http:)`,
    ],
    [
      `${INSIGHTS}/authUrl`,
      'http://127.0.0.1:8080',
      `services.customer-insights.authUrl: must be an https URL (got http:)`,
    ],
    [
      `${INSIGHTS}/authUrl`,
      'https://127.0.0.1',
      `services.customer-insights.authUrl: must name a host, not an IP address`,
    ],
    [
      `${INSIGHTS}/authUrl`,
      'https://auth.example.com/auth/v1/token',
      `services.customer-insights.authUrl: must not end in the tokenPath: the broker appends it`,
    ],
    [`${INSIGHTS}/tokenPath`, 'oauth/token', `services.customer-insights.tokenPath: must start with a slash`],
    [
      `${INSIGHTS}/tokenPath`,
      '//evil.example.com/token',
      `services.customer-insights.tokenPath: must not hold two slashes in a row`,
    ],
    [
      `${INSIGHTS}/tokenPath`,
      '/oauth/../token',
      `services.customer-insights.tokenPath: must not hold . or .. as a step`,
    ],
    [
      `${INSIGHTS}/tokenPath`,
      '/oauth/./token',
      `services.customer-insights.tokenPath: must not hold . or .. as a step`,
    ],
    [`${INSIGHTS}/tokenPath`, '/token?a=b', `services.customer-insights.tokenPath: ${PATH_QUERY}`],
    [`${INSIGHTS}/tokenPath`, '/token#a', `services.customer-insights.tokenPath: ${PATH_QUERY}`],
    [`${INSIGHTS}/tokenPath`, '/oauth\\token', `services.customer-insights.tokenPath: ${PATH_CHARACTERS}`],
    [`${INSIGHTS}/tokenPath`, '/token\n', `services.customer-insights.tokenPath: ${PATH_CHARACTERS}`],
    [`${INSIGHTS}/tokenPath`, '/%2e%2e/token', `services.customer-insights.tokenPath: ${PATH_CHARACTERS}`],
    [`${INSIGHTS}/basicEncoding`, 'rfc', "services.customer-insights.basicEncoding: must be 'raw' or 'form'"],
    [`${INSIGHTS}/parameters`, { scope: 1 }, 'services.customer-insights.parameters.scope: must be a string'],
    [`${INSIGHTS}/parameters`, { '': 'x' }, 'services.customer-insights.parameters[""]: must have a name'],
    [
      `${INSIGHTS}/parameters`,
      { client_secret: 'x' },
      "services.customer-insights.parameters.client_secret: belongs to a credential: it goes into the client's secret",
    ],
    [`${INSIGHTS}/parametersIn`, 'header', "services.customer-insights.parametersIn: must be 'query' or 'body'"],
    [
      `${INSIGHTS}/headers`,
      { Authorization: 'x' },
      `services.customer-insights.headers.Authorization: is set by the broker or by HTTP itself`,
    ],
    [
      `${INSIGHTS}/headers`,
      { host: 'x' },
      `services.customer-insights.headers.host: is set by the broker or by HTTP itself`,
    ],
    [`${INSIGHTS}/headers`, { 'x y': 'x' }, `services.customer-insights.headers["x y"]: is not a valid header name`],
    [
      `${INSIGHTS}/headers`,
      { 'x-y': 'a\r\nb: c' },
      `services.customer-insights.headers.x-y: must be visible ASCII characters, with white space only between them`,
    ],
    [
      `${INSIGHTS}/headers`,
      { 'x-y': '1', 'X-Y': '2' },
      `services.customer-insights.headers.X-Y: is there twice, in different case`,
    ],
    [
      `${INSIGHTS}/response/tokenMembr`,
      'x',
      `services.customer-insights.response.tokenMembr: is not a known member (known: tokenMember, lifetimeMember, lifetimeUnit, passThrough)`,
    ],
    [`${INSIGHTS}/response/tokenMember`, '', `services.customer-insights.response.tokenMember: ${MEMBER}`],
    [
      `${INSIGHTS}/response/lifetimeMember`,
      'data..ttl',
      `services.customer-insights.response.lifetimeMember: ${MEMBER}`,
    ],
    [
      `${INSIGHTS}/response/lifetimeUnit`,
      'hours',
      `services.customer-insights.response.lifetimeUnit: must be 'seconds' or 'milliseconds'`,
    ],
    [
      `${INSIGHTS}/response/passThrough`,
      ['expires_in'],
      `services.customer-insights.response.passThrough[0]: is a member that the broker itself answers with`,
    ],
    [
      `${INSIGHTS}/response/passThrough`,
      ['data.refresh_token'],
      `services.customer-insights.response.passThrough[0]: may hold a token or a secret, which must not pass`,
    ],
    [
      `${INSIGHTS}/response/passThrough`,
      ['$'],
      `services.customer-insights.response.passThrough[0]: may hold a token or a secret, which must not pass`,
    ],
    [
      `${INSIGHTS}/response/passThrough`,
      ['tier', 'tier'],
      `services.customer-insights.response.passThrough[1]: is there twice`,
    ],
    [
      `${INSIGHTS}/response`,
      { tokenMember: 'data.key', passThrough: ['data'] },
      `services.customer-insights.response.passThrough[0]: holds the token (see tokenMember)`,
    ],
    [
      `${INSIGHTS}/tokenLifetimeSeconds`,
      1.5,
      'services.customer-insights.tokenLifetimeSeconds: must be a whole number',
    ],
    [`${INSIGHTS}/tokenLifetimeSeconds`, 9, 'services.customer-insights.tokenLifetimeSeconds: must be at least 10'],
    [
      `${INSIGHTS}/tokenLifetimeSeconds`,
      100_000,
      'services.customer-insights.tokenLifetimeSeconds: must not be more than maxLifetimeSeconds',
    ],
    [
      `${INSIGHTS}/maxLifetimeSeconds`,
      299,
      'services.customer-insights.assumedLifetimeSeconds: must not be more than maxLifetimeSeconds',
    ],
    [`${INSIGHTS}/maxLifetimeSeconds`, 1e9, 'services.customer-insights.maxLifetimeSeconds: must be at most 2592000'],
    [`${INSIGHTS}/rejectedOn403`, 'yes', 'services.customer-insights.rejectedOn403: must be true or false'],
    [
      `${INSIGHTS}/attemptTimeoutMs`,
      5_000,
      'services.customer-insights.attemptTimeoutMs: must not be more than requestTimeoutMs',
    ],
    [`${INSIGHTS}/attemptTimeoutMs`, 10, 'services.customer-insights.attemptTimeoutMs: must be at least 100'],
    [`${INSIGHTS}/requestTimeoutMs`, 10_001, 'services.customer-insights.requestTimeoutMs: must be at most 10000'],
    [`${INSIGHTS}/requestTimeoutMs`, '4000', 'services.customer-insights.requestTimeoutMs: must be a number'],

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
      'accessRules[0].client: is not a known member (known: role, clients, services, operations)',
    ],
  ])('%s = %j is refused with its path and the reason', (path, value, fault) => {
    expect(faultsIn(() => parseEnvironment('test', changed(exampleForm(), path, value)))).toEqual([
      `environments.test.${fault}`,
    ]);
  });

  it('are all named at once, whatever else is wrong beside them', () => {
    const forms = {
      dev: {
        account: 1,
        colour: 'red',
        services: { insights: { authUrl: 'http://auth.example.com', attemptTimeoutMs: 9_000, retries: 3 } },
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
});

describe('access rules that are wrong together', () => {
  const rule = { role: ROLE, clients: ['acme', 'globex'], services: 'all', operations: ['token', 'check'] };
  const faults = (...accessRules: unknown[]) =>
    faultsIn(() => parseEnvironment('test', { ...exampleForm(), accessRules }));

  it('are refused when one says the same as another, in whatever order', () => {
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
