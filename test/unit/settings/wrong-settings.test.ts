import { RetentionDays } from 'aws-cdk-lib/aws-logs';
import { describe, expect, it } from 'vitest';
import { MAX_CALLER_ACCOUNTS } from '../../../lib/settings/access-rules.ts';
import { parseEnvironment, parseEnvironments } from '../../../lib/settings/settings.ts';
import { changed, exampleForm, faultsIn } from './example-form.ts';

const ROLE = 'arn:aws:iam::111111111111:role/billing';
const WITH_PATH = 'arn:aws:iam::111111111111:role/team-a/billing';
const ROLE_FORM = 'arn:aws:iam::<account>:role/<name>';
const ORG_FORM = 'must be the id of an AWS organization: o-…';
const RATE_RANGE = 'must be between rate(15 minutes) and rate(1 day)';
const EMAIL = 'must be an e-mail address such as ops@example.com';
const MEMBER = 'must be the name of a member, or names joined by dots such as data.token';
const CREDENTIAL = "belongs to a credential: it goes into the client's secret";
const TOKEN = 'may contain a token or a secret, which must not be passed through';
const OWN_MEMBER = 'is a member of the answers of the broker itself';
const HOLDS_TOKEN = 'response.passThrough[0]: contains the token (see tokenMember)';
const KEY_FORM = 'must be the ARN of a KMS key: arn:aws:kms:<region>:<account>:key/<id>';
const KEY_PLACE =
  'must be in the account and the region of the environment: AWS does not say that DynamoDB and CloudWatch Logs take a key of another account';
const LOG_FORM =
  'must be the ARN of a destination of CloudWatch Logs: arn:aws:logs:<region>:<account>:destination:<name>';
const KEY_ID = '12345678-1234-1234-1234-123456789012';
const vpc = { subnetIds: ['subnet-0123456789abcdef0'], securityGroupIds: ['sg-0123456789abcdef0'] };
const idsOf = (count: number) => Array.from({ length: count }, (_, index) => `subnet-${10_000_000 + index}`);
const SERVICE = 'services/customer-insights';

const PATH_ONLY = 'differs only by its path from the role of accessRules[0], which the broker cannot see';

type Row = readonly [path: string, value: unknown, fault: string];

/** In the environment itself. */
const environment: readonly Row[] = [
  ['region', 'Europe', 'region: must be an AWS region with Lambda Function URLs, such as eu-west-1'],
  ...['11111111111', 'a111111111111', '111111111111a'].map(
    (id): Row => ['account', id, 'account: must be 12 digits in quotes'],
  ),
  ['acount', '1', expect.stringMatching(/^acount: is not a known member \(known: account, region, services, /)],
  ['services', {}, 'services: must have at least one service'],
  ['services/all', { authUrl: 'https://auth.example.com' }, "services.all: must not be named 'all'"],
  ...['ou-1234-12345678', 'xo-a1b2c3d4e5', 'o-a1b2c3d4e5/r'].map(
    (id): Row => ['principalOrgId', id, `principalOrgId: ${ORG_FORM}`],
  ),
  ['health/every', 'cron(0 * * * ? *)', 'health.every: must be a rate such as rate(1 hour) or rate(30 minutes)'],
  ['health/every', 'rate(14 minutes)', `health.every: ${RATE_RANGE}`],
  ['health/every', 'rate(25 hours)', `health.every: ${RATE_RANGE}`],
  ['health/notify', ['ops@example.com, me@example.com'], `health.notify[0]: ${EMAIL}`],
  ['canary', true, "canary: must be 'off' or an object with percent and minutes"],
  ['canary/percent', 0, 'canary.percent: must be at least 1'],
  ['canary/minutes', 0, 'canary.minutes: must be at least 1'],
  ['canary/minutes', 61, 'canary.minutes: must be at most 60'],
  ['reservedConcurrency', 10_001, 'reservedConcurrency: must be at most 10000'],
  ['healthConcurrency', 101, 'healthConcurrency: must be at most 100'],
  ['healthConcurrency', 'some', "healthConcurrency: must be 'none' or a whole number, 2 to 100"],
  ['credentialMaxAgeDays', 0, 'credentialMaxAgeDays: must be at least 1'],
  ['slo', { answered: 94, withinMs: 10 }, 'slo.answered: must be at least 95'],
  ['slo', { answered: 95, withinMs: 15_001 }, 'slo.withinMs: must be at most 15000'],
  ['trail', true, "trail: must be 'off' or an object with sealingKeyWriters and secretPolicyWriters"],
  [
    'trail/sealingKeyWriters',
    ['d', 'e', 'f', 'g'].map((name) => `${ROLE}-${name}`),
    'trail.sealingKeyWriters: must have at most 3',
  ],
  ['canary/percent', 100, 'canary.percent: must be at most 99'],
  ['canary/minutes', 2.5, 'canary.minutes: must be a whole number'],
  ['tags/Environment', 'x', 'tags.Environment: is a tag that the stack sets itself (case is ignored)'],
  ['tags', { 'aws:team': 'x' }, 'tags["aws:team"]: must not begin with aws:'],
  ['tags', { t: 'a', T: 'b' }, 'tags: must not have names that differ only by case: IAM treats them as the same name'],
  ['tags', { '': 'x' }, 'tags[""]: must have a name'],
  ['tags/team', 'a,b', 'tags.team: must be at most 128 of: letters, digits, space, _ . : / = + - @'],
  ['reservedConcurrency', '10', "reservedConcurrency: must be 'none' or a whole number, 0 to 10000"],
  ['healthConcurrency', 1, 'healthConcurrency: must be at least 2'],
  ['trail/secretPolicyWriters', ['me'], `trail.secretPolicyWriters[0]: must be the ARN of an IAM role: ${ROLE_FORM}`],
  ['provisionedConcurrency', 6, 'provisionedConcurrency: must not be more than reservedConcurrency'],
  ['callers', 'organization', expect.stringMatching(/^callers: must be 'accounts' without principalOrgId/)],
  ['vpc', { ...vpc, subnetIds: 'subnet-0123456789abcdef0' }, 'vpc.subnetIds: must be a list'],
  ['vpc', { ...vpc, subnetIds: idsOf(17) }, 'vpc.subnetIds: must have at most 16'],
  ['vpc', { ...vpc, subnetIds: ['*'] }, 'vpc.subnetIds[0]: must be an id such as subnet-0123456789abcdef0'],
  ['keyArn', 'arn:aws:kms:eu-west-1:111111111111:alias/keys', `keyArn: ${KEY_FORM}`],
  ['keyArn', `x:arn:aws:kms:eu-west-1:111111111111:key/${KEY_ID}`, `keyArn: ${KEY_FORM}`],
  ['keyArn', `arn:aws:kms:eu-west-1:111111111111:key/${KEY_ID}/x`, `keyArn: ${KEY_FORM}`],
  ['keyArn', `arn:aws:kms:eu-west-1:222222222222:key/${KEY_ID}`, `keyArn: ${KEY_PLACE}`],
  ['logDestinationArn', 'arn:aws:kinesis:eu-west-1:222222222222:stream/siem', `logDestinationArn: ${LOG_FORM}`],
  ['logDestinationArn', 'arn:aws:firehose:eu-west-1:222222222222:deliverystream/s', `logDestinationArn: ${LOG_FORM}`],
  ['logDestinationArn', 'x:arn:aws:logs:eu-west-1:222222222222:destination:siem', `logDestinationArn: ${LOG_FORM}`],
  ['logDestinationArn', 'arn:aws:logs:eu-west-1:222222222222:destination:siem:*', `logDestinationArn: ${LOG_FORM}`],
  [
    'logDestinationArn',
    'arn:aws:logs:eu-central-1:222222222222:destination:siem',
    'logDestinationArn: must be in the region of the environment, as its log is',
  ],
  ['alarms/off', ['latched'], expect.stringMatching(/^alarms.off\[0\]: must be 'errors' or .* or 'trail-changed'$/)],
  ['alarms/off', ['shared-cache-busy'], "alarms.off[0]: is now called 'table-busy': write that name"],
  ['alarms/off', ['shared-cache-degraded'], "alarms.off[0]: is now called 'table-unavailable': write that name"],
];

const rule: readonly Row[] = [
  ['', ROLE, ': must be an object'],
  ['/role', 'arn:aws:iam::111111111111:role/*', '.role: must name one role: no * and no ?'],
  [
    '/role',
    'arn:aws:sts::111111111111:assumed-role/billing/1',
    `.role: must be the role itself, not a session of it: ${ROLE_FORM}`,
  ],
  ['/role', 'arn:aws:iam::111111111111:user/eve', `.role: must be a role, not a user: ${ROLE_FORM}`],
  ['/role', 'arn:aws:iam::111111111111:root', `.role: must be a role, not a whole account: ${ROLE_FORM}`],
  ['/role', 'arn:aws-cn:iam::111111111111:role/billing', ".role: must start with arn:aws: like the region's own"],
  ...['AROAX', 'AIDAEXAMPLEEXAMPLE12', 'xAROAEXAMPLEEXAMPLE12', 'AROAEXAMPLEEXAMPLE12:me'].map(
    (id): Row => ['/roleId', id, '.roleId: must be the unique id of a role: AROA…'],
  ),
  ['/roleID', 'x', '.roleID: is not a known member (known: role, roleId, clients, services, operations)'],
  ['/clients', undefined, '.clients: is missing'],
  ['/clients', [], '.clients: must not be empty'],
  ['/clients', ['acme', 'acme'], '.clients[1]: is a duplicate'],
  ['/clients', ['all'], ".clients[0]: must stand alone, not in a list: 'all'"],
  ['/clients', ['*'], '.clients[0]: must be 1 to 63 letters, digits or . _ - and start with a letter or digit'],
  ['/services', 'x', ".services: must be 'all' or a list of names"],
  ['/services', ['x'], '.services[0]: is not one of the services (customer-insights, merchant-payment-cleansing)'],
  ['/operations', ['admin'], ".operations[0]: must be 'token' or 'check'"],
];

const QUERY = 'must have letters, digits, signs of URLs and %XX after the question mark';

const service: readonly Row[] = [
  ['authUrl', undefined, 'authUrl: is missing'],
  ['authUrl', 'https://a.example.com/auth/v1/token', 'authUrl: must not end in the tokenPath: the broker appends it'],
  ['tokenPath', 'token', 'tokenPath: must start with a slash'],
  ['tokenPath', '/token?', `tokenPath: ${QUERY}`],
  ...['a b', 'a#b', 'a=%2', '{client_id}', 'a="b'].map(
    (query): Row => ['tokenPath', `/token?${query}`, `tokenPath: ${QUERY}`],
  ),
  ...['client_id=x', 'a=b&client_secret=x', 'PASSWORD=x'].map(
    (query): Row => ['tokenPath', `/token?${query}`, `tokenPath: ${CREDENTIAL}`],
  ),
  ['tokenPath', '/tok en?a=b', "tokenPath: must contain only letters, digits and / . _ ~ : @ ! $ & ' ( ) * + , ; = -"],
  ['parameters', { client_secret: 'x' }, `parameters.client_secret: ${CREDENTIAL}`],
  ['parameters', { client_secret: '{client_id}' }, `parameters.client_secret: ${CREDENTIAL}`],
  ['parameters', { client_id: 'x' }, `parameters.client_id: ${CREDENTIAL}`],
  ...['{secret}', 'api://{client_id}/.default', '{{client_id}}', '{CLIENT_ID}'].map(
    (pass): Row => ['parameters', { pass }, 'parameters.pass: must be a text, or {client_id} alone'],
  ),
  ['parameters', { '': 'x' }, 'parameters[""]: must have a name'],
  ['parametersIn', 'xml', "parametersIn: must be 'query' or 'body' or 'json'"],
  ['clientHeaders', ['authorization'], 'clientHeaders[0]: is set by the broker or by HTTP itself'],
  ['clientHeaders', ['User-Agent'], 'clientHeaders[0]: is set by the broker or by HTTP itself'],
  ['clientHeaders', ['secret'], "clientHeaders[0]: is a member of the client's secret"],
  ['clientHeaders', ['x y'], 'clientHeaders[0]: is not a valid header name'],
  ['clientHeaders', ['x-key', 'X-Key'], 'clientHeaders[1]: is a duplicate'],
  ['rejectedOn', ['two words'], 'rejectedOn[0]: must be one word, the whole member error of an answer'],
  ['rejectedOn', [''], 'rejectedOn[0]: must be one word, the whole member error of an answer'],
  ['response/tokenHeader', 'Set-Cookie', 'response.tokenHeader: must not be a cookie'],
  ['response/tokenHeader', 'x y', 'response.tokenHeader: is not a valid header name'],
  ['response', { tokenMember: 'a', tokenHeader: 'x' }, 'response.tokenHeader: must not stand beside tokenMember'],
  ['response/lifetimeMember', true, 'response.lifetimeMember: must be the name of a member, or false'],
  ['headers', { 'x y': 'x' }, 'headers["x y"]: is not a valid header name'],
  ['headers', { x: 'a\r\nb: c' }, 'headers.x: must be visible ASCII characters, with white space only between them'],
  ...['', ' key', 'a\u0007', 'data.'].map(
    (name): Row => ['response/tokenMember', name, `response.tokenMember: ${MEMBER}`],
  ),
  ...['token_type', 'expires_in', 'expires_at', 'expiry_source', 'fingerprint', 'scope'].map(
    (name): Row => ['response/passThrough', [name], `response.passThrough[0]: ${OWN_MEMBER}`],
  ),
  ['response/passThrough', ['data.refresh_token'], `response.passThrough[0]: ${TOKEN}`],
  ['response/passThrough', ['data.__proto__.tier'], 'response.passThrough[0]: is not a name of a member'],
  ['response/passThrough', ['$'], `response.passThrough[0]: ${TOKEN}`],
  ['response', { tokenMember: 'a.key', passThrough: ['a'] }, HOLDS_TOKEN],
  ['response', { tokenMember: 'key', passThrough: ['key'] }, HOLDS_TOKEN],
  ['tokenLifetimeSeconds', 100_000, 'tokenLifetimeSeconds: must not be more than maxLifetimeSeconds'],
  ['maxLifetimeSeconds', 299, 'assumedLifetimeSeconds: must not be more than maxLifetimeSeconds'],
  ['requestTimeoutMs', 99, 'requestTimeoutMs: must be at least 100'],
  ['tokenLifetimeSeconds', 9, 'tokenLifetimeSeconds: must be at least 10'],
  ['maxLifetimeSeconds', 2_592_001, 'maxLifetimeSeconds: must be at most 2592000'],
  ['requestTimeoutMs', 6_001, 'requestTimeoutMs: must be at most 6000'],
];

/** The faults in the settings of the environment `name`, without its place. */
function faultsOf(form: unknown, name = 'test'): readonly string[] {
  return faultsIn(() => parseEnvironment(name, form)).map((line) => line.replace('environments.test.', ''));
}

describe('wrong settings', () => {
  it.each<Row>([
    ...environment,
    ['accessRules/1', { ...exampleForm().accessRules[0], role: WITH_PATH }, `accessRules[1].role: ${PATH_ONLY}`],
    ...rule.map(([path, value, fault]): Row => [`accessRules/0${path}`, value, `accessRules[0]${fault}`]),
    ...service.map(([path, value, fault]): Row => [`${SERVICE}/${path}`, value, `services.customer-insights.${fault}`]),
  ])('%s = %j is refused with its path and the reason', (path, value, fault) => {
    expect(faultsOf(changed({ ...exampleForm(), reservedConcurrency: 5 }, path, value))).toEqual([fault]);
  });

  it('set a header that the broker or HTTP itself sets', () => {
    const names = 'Host Authorization Cookie Expect Accept-Encoding Content-Encoding Content-Length Content-Type ';
    const ofHttp = 'connection keep-alive proxy-authorization proxy-connection te trailer transfer-encoding upgrade';
    const headers = Object.fromEntries((names + ofHttp).split(' ').map((name) => [name, 'x']));
    const faults = faultsOf(changed(exampleForm(), `${SERVICE}/headers`, headers));
    expect(faults.filter((fault) => fault.endsWith(': is set by the broker or by HTTP itself'))).toHaveLength(16);
  });

  it('name a header both for all clients and for each client', () => {
    const form = changed(exampleForm(), `${SERVICE}/headers`, { 'X-Key': 'x' });
    const fault = 'services.customer-insights.clientHeaders: must not name a header that headers contains';
    expect(faultsOf(changed(form, `${SERVICE}/clientHeaders`, ['x-key']))).toEqual([fault]);
  });

  it('are all named at once, and members that are right are judged together', () => {
    const forms = {
      dev: {
        account: 1,
        colour: 'red',
        services: { insights: { authUrl: 'http://auth.example.com', tokenLifetimeSeconds: 100_000, retries: 3 } },
        accessRules: [
          { role: ROLE, clients: ['a b'], services: ['x'] },
          { role: ROLE, clients: 'all', services: ['x'] },
        ],
      },
      Prod: { ...exampleForm(), region: undefined },
    };
    expect(() => parseEnvironments(forms)).toThrow(/^The settings are wrong in 9 places:\n/);
    expect(faultsIn(() => parseEnvironments(forms)).map((line) => line.split(': ')[0])).toEqual([
      'environments.dev.account',
      'environments.dev.region',
      'environments.dev.services.insights.authUrl',
      'environments.dev.services.insights.retries',
      'environments.dev.accessRules[0].clients[0]',
      'environments.dev.colour',
      'environments.dev.accessRules[1].services[0]',
      'environments.Prod',
      'environments.Prod.region',
    ]);
  });

  it.each([undefined, null, 'dev', []])('are no object but %j', (input) => {
    expect(faultsOf(input)).toEqual([expect.stringMatching(/^environments\.test: (is missing|must be an object)$/)]);
  });

  const names = ['', 'Dev', 'dev/eu', '1st', 'a'.repeat(21), 'local', 'health-a', 'release-check-a'];
  it.each(names)('are called "%s"', (name) => {
    expect(faultsOf(exampleForm(), name)).toEqual([expect.stringMatching(/: must (not be named|have a name)/)]);
  });

  it('name more accounts than the policy of the function has room for, and more roles of an account take none', () => {
    const faults = (accounts: number, roles: number, form = {}) => {
      const accessRules = Array.from({ length: accounts * roles }, (_, index) => ({
        role: `arn:aws:iam::${200_000_000_000 + (index % accounts)}:role/caller-${index}`,
        clients: 'all',
        services: 'all',
      }));
      return faultsOf({ ...exampleForm(), accessRules, ...form });
    };
    expect(faults(MAX_CALLER_ACCOUNTS, 3)).toEqual([]);
    expect(faults(MAX_CALLER_ACCOUNTS + 1, 1)).toEqual([
      "accessRules: name 26 accounts, more than the 25 that fit into the policy of the function: callers: 'organization' has no such limit",
    ]);
    expect(faults(200, 1, { callers: 'organization', principalOrgId: 'o-a1b2c3d4e5' })).toEqual([]);
  });

  it('list more clients than the template of CloudFormation has room for', () => {
    const faults = (roles: number, clients: readonly string[] | 'all') => {
      const accessRules = Array.from({ length: roles }, (_, index) => ({
        role: `arn:aws:iam::222222222222:role/caller-${index}`,
        clients,
        services: ['customer-insights'],
      }));
      return faultsOf({ ...exampleForm(), accessRules });
    };
    const clients = Array.from({ length: 4_000 }, (_, index) => `client-${index}`);
    expect(faults(9, clients)).toEqual([]);
    expect(faults(12, clients)).toEqual([
      "accessRules: list 900 kB of clients, and the template of CloudFormation has room for 750: name fewer clients in a rule, or 'all'",
    ]);
    expect(faults(12, 'all')).toEqual([]);
  });
});

it('keeps logs for as long as CloudWatch can, and not for ever', () => {
  const known = Object.values(RetentionDays)
    .map(Number)
    .filter((days) => days < RetentionDays.INFINITE);
  const accepts = (logRetentionDays: number) => faultsOf({ ...exampleForm(), logRetentionDays }).length === 0;
  const near = new Set([0, RetentionDays.INFINITE, ...known.flatMap((days) => [days - 1, days, days + 1])]);
  expect([...near].filter(accepts).toSorted()).toEqual(known.toSorted());
});
