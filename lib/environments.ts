import type { EnvironmentForm } from './settings/settings.ts';

/**
 * The settings of every environment: the one file to edit. `npm run cdk -- synth` checks it and names every wrong place.
 * README.md tells how to add a client, a caller or a service. `npm run token-broker -- config <environment>` shows every
 * setting with its default; `settings/settings.ts` and `settings/service.ts` explain them.
 */
export const environments: Readonly<Record<string, EnvironmentForm>> = {
  dev: {
    // Where the stack TokenBroker-dev is deployed.
    account: '111111111111',
    region: 'eu-west-1',

    // Who issues tokens. Only authUrl is required; the token request goes to <authUrl>/auth/v1/token.
    services: {
      'customer-insights': { authUrl: 'https://auth.customer-insights.dev.example.com' },
      'merchant-payment-cleansing': { authUrl: 'https://auth.merchant-payment-cleansing.dev.example.com' },
    },

    // Who may have which tokens. A client exists when its secret token-broker/dev/<client> does.
    accessRules: [
      // In development, billing may act for every client on every service, and check credentials.
      {
        role: 'arn:aws:iam::111111111111:role/billing',
        clients: 'all',
        services: 'all',
        operations: ['token', 'check'],
      },
      { role: 'arn:aws:iam::222222222222:role/reporting', clients: ['acme'], services: ['customer-insights'] },
    ],

    // How often every credential is checked. Without `notify`, no e-mail is sent.
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
      // The applications have another account than the broker: docs/security.md says why.
      { role: 'arn:aws:iam::444444444444:role/billing', clients: ['acme', 'globex'], services: 'all' },
      { role: 'arn:aws:iam::444444444444:role/reporting', clients: ['acme'], services: ['customer-insights'] },
      // The operators may check credentials, as `client put` does with a new one, and get no token.
      {
        role: 'arn:aws:iam::333333333333:role/token-broker-operator',
        clients: 'all',
        services: 'all',
        operations: ['check'],
      },
    ],

    // As often as in production, and deployed as there, so that a fault shows here first.
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

    // In production every client of a caller is named: a new one is out of reach until a rule says otherwise. And every
    // role is pinned by its unique id, which `aws iam get-role` shows as RoleId (put in yours): a role that is made again
    // under the same name is denied.
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

    // AWS first asks each address to confirm its subscription.
    health: { every: 'rate(30 minutes)', notify: ['ops@example.com'] },

    // At most so many calls at a time, 10 times as many a second: a caller in a loop does not use up the account. And so
    // many secrets that changed are checked at a time. `npm run deploy` says which quota the account must have for both.
    reservedConcurrency: 50,
    healthConcurrency: 10,

    // A new version gets 10 % of the calls for 5 minutes first. More settings for production: docs/operations.md.
    canary: { percent: 10, minutes: 5 },
    logRetentionDays: 365,
  },
};
