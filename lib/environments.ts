import type { EnvironmentForm } from './settings/settings.ts';

/**
 * The settings of every environment, unless TOKEN_BROKER_ENVIRONMENTS_FILE names another file. `npm run cdk -- synth`
 * checks it and reports every mistake. README.md explains how to add a client, a caller or a service. `npm run
 * token-broker -- config <environment>` lists every setting with its default. `settings/settings.ts` and
 * `settings/service.ts` explain the settings.
 */
export const environments: Readonly<Record<string, EnvironmentForm>> = {
  dev: {
    // The account and the region of the stack TokenBroker-dev.
    account: '111111111111',
    region: 'eu-west-1',

    // The services that issue tokens. Only authUrl is required. Token requests go to <authUrl>/auth/v1/token.
    services: {
      'customer-insights': { authUrl: 'https://auth.customer-insights.dev.example.com' },
      'merchant-payment-cleansing': { authUrl: 'https://auth.merchant-payment-cleansing.dev.example.com' },
    },

    // The roles and the tokens each may get. A client exists when its secret token-broker/dev/<client> exists.
    accessRules: [
      // Development: billing may get every token and check every credential.
      {
        role: 'arn:aws:iam::111111111111:role/billing',
        clients: 'all',
        services: 'all',
        operations: ['token', 'check'],
      },
      { role: 'arn:aws:iam::222222222222:role/reporting', clients: ['acme'], services: ['customer-insights'] },
    ],

    // The interval of credential checks. Without `notify`, no e-mail is sent.
    health: { every: 'rate(1 hour)' },

    // A new version gets all calls at once.
    canary: 'off',
    logRetentionDays: 30,
  },

  staging: {
    account: '333333333333',
    region: 'eu-west-1',

    services: {
      'customer-insights': { authUrl: 'https://auth.customer-insights.staging.example.com' },
      'merchant-payment-cleansing': { authUrl: 'https://auth.merchant-payment-cleansing.staging.example.com' },
    },

    accessRules: [
      // The applications run in another account than the broker. docs/security.md explains why.
      { role: 'arn:aws:iam::444444444444:role/billing', clients: ['acme', 'globex'], services: 'all' },
      { role: 'arn:aws:iam::444444444444:role/reporting', clients: ['acme'], services: ['customer-insights'] },
      // Operators may check credentials but get no token. `client put` checks each new credential.
      {
        role: 'arn:aws:iam::333333333333:role/token-broker-operator',
        clients: 'all',
        services: 'all',
        operations: ['check'],
      },
    ],

    // The same interval and the same canary as in production, to find a fault here first.
    health: { every: 'rate(30 minutes)', notify: ['ops@example.com'] },
    canary: { percent: 10, minutes: 5 },
    logRetentionDays: 90,
  },

  prod: {
    account: '222222222222',
    region: 'eu-west-1',

    services: {
      'customer-insights': { authUrl: 'https://auth.customer-insights.example.com' },
      'merchant-payment-cleansing': { authUrl: 'https://auth.merchant-payment-cleansing.example.com' },
    },

    // Production rules name every client, because a new client must not be accessible before a rule allows it. Replace
    // each roleId with the RoleId that `aws iam get-role` shows. The id denies access to a role that was deleted and
    // created again under the same name.
    accessRules: [
      {
        role: 'arn:aws:iam::444444444444:role/billing',
        roleId: 'AROAEXAMPLEBILLING001',
        clients: ['acme', 'globex'],
        services: ['customer-insights', 'merchant-payment-cleansing'],
      },
      {
        role: 'arn:aws:iam::444444444444:role/reporting',
        roleId: 'AROAEXAMPLEREPORTING1',
        clients: ['acme'],
        services: ['customer-insights'],
      },
      {
        role: 'arn:aws:iam::222222222222:role/token-broker-operator',
        roleId: 'AROAEXAMPLEOPERATOR01',
        clients: 'all',
        services: 'all',
        operations: ['check'],
      },
    ],

    // AWS asks each address to confirm its subscription first.
    health: { every: 'rate(30 minutes)', notify: ['ops@example.com'] },

    // Limits concurrent calls, and calls per second to 10 times as many, so that a caller in a loop cannot exhaust the
    // account. Limits concurrent checks of changed secrets. `npm run deploy` checks the quota that both need.
    reservedConcurrency: 50,
    healthConcurrency: 10,

    // Rings when calls without a token in this time use up the budget of a month too fast.
    slo: { answered: 99.9, withinMs: 1_000 },

    // A new version gets 10 % of the calls for 5 minutes first. docs/deploy.md lists more production settings.
    canary: { percent: 10, minutes: 5 },
    logRetentionDays: 365,
  },
};
