import { RetentionDays } from 'aws-cdk-lib/aws-logs';
import { describe, expect, it } from 'vitest';
import { MAX_CALLER_ACCOUNTS } from '../../../lib/settings/access-rules.ts';
import { parseEnvironment, parseEnvironments } from '../../../lib/settings/settings.ts';
import { changed, exampleForm, faultsIn, VPC } from './example-form.ts';

const ROLE = 'arn:aws:iam::111111111111:role/billing';
const WITH_PATH = 'arn:aws:iam::111111111111:role/team-a/billing';
const FORM = 'arn:aws:iam::<account>:role/<name>';
const RATE_RANGE = ': must be between rate(15 minutes) and rate(1 day)';
const MEMBER = ': must be the name of a member, or names joined by dots such as data.token';
const CREDENTIAL = "belongs to a credential: it goes into the client's secret";
const TOKEN = '[0]: may contain a token or a secret, which must not be passed through';
const HOLDS_TOKEN = '.passThrough[0]: contains the token (see tokenMember)';
const KEY_FORM = ': must be the ARN of a KMS key: arn:aws:kms:<region>:<account>:key/<id>';
const KEY_PLACE =
  ': must be in the account and the region of the environment: AWS does not say that DynamoDB and CloudWatch Logs take a key of another account';
const LOG_FORM =
  ': must be the ARN of a destination of CloudWatch Logs: arn:aws:logs:<region>:<account>:destination:<name>';
const LOG_PLACE = ': must be in the region of the environment, as its log is';
const QUERY = ': must have letters, digits, signs of URLs and %XX after the question mark';
const KEY_ID = '12345678-1234-1234-1234-123456789012';
const KEY = `arn:aws:kms:eu-west-1:111111111111:key/${KEY_ID}`;
const LOGS = 'arn:aws:logs:eu-west-1:222222222222:destination:siem';
const SERVICE = 'services/customer-insights';
const authUrl = 'https://auth.example.com';
const idsOf = (count: number) => Array.from({ length: count }, (_, index) => `subnet-${10_000_000 + index}`);

const PATH_ONLY = '.role: differs only by its path from the role of accessRules[0], which the broker cannot see';

/** The path of a member, the fault with the rest of its place, and the values that have it. ` …` is any end. */
type Row = readonly [path: string, fault: string, ...values: readonly unknown[]];

/** In the environment itself. */
const environment: readonly Row[] = [
  [
    'region',
    ': must be an AWS region with Lambda Function URLs, such as eu-west-1 (lib/settings/regions.ts lists them)',
    'Europe',
  ],
  ['account', ': must be 12 digits in quotes', '11111111111', 'a111111111111', '111111111111a'],
  // @see aws-amplify/amplify-backend#2259
  ['health/notify', '[0]: contains undefined: is a variable unset?', ['undefined@example.com']],
  [`${SERVICE}/authUrl`, ': contains undefined: is a variable unset?', 'https://auth-undefined.example.com'],
  ['acount', ': is not a known member (known: account, region, services, …', '1'],
  ['services', ': must have at least one service', {}],
  ['services/all', ": must not be named 'all'", { authUrl }],
  ['principalOrgId', ': must be the id of an AWS organization: o-…', 'ou-1234-5678', 'xo-a1b2c3d4e5', 'o-a1b2c3d4e5/r'],
  ['health/every', ': must be a rate such as rate(1 hour) or rate(30 minutes)', 'cron(0 * * * ? *)'],
  ['health/every', RATE_RANGE, 'rate(14 minutes)', 'rate(25 hours)'],
  ['health/notify', '[0]: must be an e-mail address such as ops@example.com', ['ops@example.com, me@example.com']],
  ['canary', ": must be 'off' or an object with percent and minutes", true],
  ['canary/percent', ': must be at least 1', 0],
  ['canary/percent', ': must be at most 99', 100],
  ['canary/minutes', ': must be at least 1', 0],
  ['canary/minutes', ': must be at most 60', 61],
  ['canary/minutes', ': must be a whole number', 2.5],
  ['reservedConcurrency', ': must be at most 10000', 10_001],
  ['reservedConcurrency', ": must be 'none' or a whole number, 0 to 10000", '10'],
  ['healthConcurrency', ': must be at least 2', 1],
  ['healthConcurrency', ': must be at most 100', 101],
  ['healthConcurrency', ": must be 'none' or a whole number, 2 to 100", 'some'],
  ['provisionedConcurrency', ': must not be more than reservedConcurrency', 6],
  ['credentialMaxAgeDays', ': must be at least 1', 0],
  ['slo', '.answered: must be at least 95', { answered: 94, withinMs: 10 }],
  ['slo', '.withinMs: must be at most 15000', { answered: 95, withinMs: 15_001 }],
  ['trail', ": must be 'off' or an object with sealingKeyWriters and secretPolicyWriters", true],
  ['trail/sealingKeyWriters', ': must have at most 3', ['d', 'e', 'f', 'g'].map((name) => `${ROLE}-${name}`)],
  ['trail/secretPolicyWriters', `[0]: must be the ARN of an IAM role: ${FORM}`, ['me']],
  ['tags', '.Environment: is a tag that the stack sets itself (case is ignored)', { Environment: 'x' }],
  ['tags', '["aws:team"]: must not begin with aws:', { 'aws:team': 'x' }],
  ['tags', ': must not have names that differ only by case: IAM treats them as the same name', { t: 'a', T: 'b' }],
  ['tags', '[""]: must have a name', { '': 'x' }],
  // @see aws/aws-cdk#7612
  ['tags', ': must be at most 40: a secret needs ten of its 50', Object.fromEntries(idsOf(41).map((id) => [id, 'x']))],
  ['tags/team', ': must be at most 128 of: letters, digits, space, _ . : / = + - @', 'a,b'],
  ['callers', ": must be 'accounts' without principalOrgId, …", 'organization'],
  ['vpc', '.subnetIds: must be a list', { ...VPC, subnetIds: 'subnet-0123456789abcdef0' }],
  ['vpc', '.subnetIds: must have at most 16', { ...VPC, subnetIds: idsOf(17) }],
  ['vpc', '.subnetIds[0]: must be an id such as subnet-0123456789abcdef0', { ...VPC, subnetIds: ['*'] }],
  ['keyArn', KEY_FORM, 'arn:aws:kms:eu-west-1:111111111111:alias/keys', `x:${KEY}`, `${KEY}/x`],
  ['keyArn', KEY_PLACE, `arn:aws:kms:eu-west-1:222222222222:key/${KEY_ID}`],
  ['logDestinationArn', LOG_FORM, 'arn:aws:kinesis:eu-west-1:222222222222:stream/siem', `x:${LOGS}`, `${LOGS}:*`],
  ['logDestinationArn', LOG_FORM, 'arn:aws:firehose:eu-west-1:222222222222:deliverystream/s'],
  ['logDestinationArn', LOG_PLACE, LOGS.replace('west', 'central')],
  ['alarms/off', "[0]: must be 'errors' or …", ['latched']],
  ['alarms/off', "[0]: is now called 'table-busy': write that name", ['shared-cache-busy']],
  ['alarms/off', "[0]: is now called 'table-unavailable': write that name", ['shared-cache-degraded']],
];

const rule: readonly Row[] = [
  ['', ': must be an object', ROLE],
  ['role', ': must name one role: no * and no ?', 'arn:aws:iam::111111111111:role/*'],
  ['role', `: must be the role itself, not a session of it: ${FORM}`, 'arn:aws:sts::111111111111:assumed-role/a/1'],
  ['role', `: must be a role, not a user: ${FORM}`, 'arn:aws:iam::111111111111:user/eve'],
  ['role', `: must be a role, not a whole account: ${FORM}`, 'arn:aws:iam::111111111111:root'],
  ['role', ": must start with arn:aws: like the region's own", 'arn:aws-cn:iam::111111111111:role/billing'],
  [
    'roleId',
    ': must be the unique id of a role: AROA…',
    ...['AROAX', 'AIDAEXAMPLEEXAMPLE12', 'xAROAEXAMPLEEXAMPLE12', 'AROAEXAMPLEEXAMPLE12:me'],
  ],
  ['roleID', ': is not a known member (known: role, roleId, clients, services, operations)', 'x'],
  ['clients', ': is missing', undefined],
  ['clients', ': must not be empty', []],
  ['clients', '[1]: is a duplicate', ['acme', 'acme']],
  ['clients', "[0]: must stand alone, not in a list: 'all'", ['all']],
  ['clients', '[0]: must be 1 to 63 letters, digits or . _ - and start with a letter or digit', ['*']],
  ['services', ": must be 'all' or a list of names", 'x'],
  ['services', '[0]: is not one of the services (customer-insights, merchant-payment-cleansing)', ['x']],
  ['operations', "[0]: must be 'token' or 'check'", ['admin']],
];

const service: readonly Row[] = [
  ['authUrl', ': is missing', undefined],
  ['authUrl', ': must not end in the tokenPath: the broker appends it', 'https://a.example.com/auth/v1/token'],
  ['tokenPath', ': must start with a slash', 'token'],
  ['tokenPath', QUERY, ...['', 'a b', 'a#b', 'a=%2', '{client_id}', 'a="b'].map((query) => `/token?${query}`)],
  ['tokenPath', `: ${CREDENTIAL}`, '/token?client_id=x', '/token?a=b&client_secret=x', '/token?PASSWORD=x'],
  ['tokenPath', ": must contain only letters, digits and / . _ ~ : @ ! $ & ' ( ) * + , ; = -", '/tok en?a=b'],
  ['parameters/client_secret', `: ${CREDENTIAL}`, 'x', '{client_id}'],
  ['parameters/client_id', `: ${CREDENTIAL}`, 'x'],
  [
    'parameters/pass',
    ': must be a text, or {client_id} alone',
    ...['{secret}', 'api://{client_id}/.default', '{{client_id}}', '{CLIENT_ID}'],
  ],
  ['parameters', '[""]: must have a name', { '': 'x' }],
  ['parametersIn', ": must be 'query' or 'body' or 'json'", 'xml'],
  ['clientHeaders', '[0]: is set by the broker or by HTTP itself', ['authorization'], ['User-Agent']],
  ['clientHeaders', "[0]: is a member of the client's secret", ['secret']],
  ['clientHeaders', '[0]: is not a valid header name', ['x y']],
  ['clientHeaders', '[1]: is a duplicate', ['x-key', 'X-Key']],
  ['rejectedOn', '[0]: must be one word, the whole member error of an answer', ['two words'], ['']],
  ['response/tokenHeader', ': must not be a cookie', 'Set-Cookie'],
  ['response/tokenHeader', ': is not a valid header name', 'x y'],
  ['response', '.tokenHeader: must not stand beside tokenMember', { tokenMember: 'a', tokenHeader: 'x' }],
  ['response/lifetimeMember', ': must be the name of a member, or false', true],
  ['headers', '["x y"]: is not a valid header name', { 'x y': 'x' }],
  ['headers/x', ': must be visible ASCII characters, with white space only between them', 'a\r\nb: c'],
  // @see mulesoft/mulesoft-docs#1961
  ['headers/x', ': must be a text: clientHeaders name the headers of each client', '{client_id}', '{secret}'],
  // @see jdinicola/insomnia-plugin-get-access-token#2
  ['response/tokenMember', MEMBER, '', ' key', 'a\u0007', 'data.', '$.data.token', 'data[0].token'],
  [
    'response/passThrough',
    '[0]: is a member of the answers of the broker itself',
    ...['token_type', 'expires_in', 'expires_at', 'expiry_source', 'fingerprint', 'scope'].map((name) => [name]),
  ],
  ['response/passThrough', TOKEN, ['data.refresh_token'], ['$']],
  ['response/passThrough', '[0]: is not a name of a member', ['data.__proto__.tier']],
  ['response', HOLDS_TOKEN, { tokenMember: 'a.key', passThrough: ['a'] }, { tokenMember: 'key', passThrough: ['key'] }],
  ['tokenLifetimeSeconds', ': must not be more than maxLifetimeSeconds', 100_000],
  ['tokenLifetimeSeconds', ': must be at least 10', 9],
  ['', '.assumedLifetimeSeconds: must not be more than maxLifetimeSeconds', { authUrl, maxLifetimeSeconds: 299 }],
  ['maxLifetimeSeconds', ': must be at most 2592000', 2_592_001],
  ['requestTimeoutMs', ': must be at least 100', 99],
  ['requestTimeoutMs', ': must be at most 6000', 6_001],
];

function rowsAt(place: string, rows: readonly Row[]) {
  return rows.flatMap(([path, fault, ...values]) =>
    values.map((value) => [[place, path].filter((step) => step !== '').join('/'), value, fault] as const),
  );
}

/** The faults in the settings of the environment `name`, without its place. */
function faultsOf(form: unknown, name = 'test'): readonly string[] {
  return faultsIn(() => parseEnvironment(name, form)).map((line) => line.replace('environments.test.', ''));
}

describe('wrong settings', () => {
  it.each([
    ...rowsAt('', environment),
    ['accessRules/1', { ...exampleForm().accessRules[0], role: WITH_PATH }, PATH_ONLY] as const,
    ...rowsAt('accessRules/0', rule),
    ...rowsAt(SERVICE, service),
  ])('%s = %j is refused with its path and the reason', (path, value, fault) => {
    const [beginning = '', ...more] = (path.replaceAll(/\/(\d+)/g, '[$1]').replaceAll('/', '.') + fault).split(' …');
    const found = faultsOf(changed({ ...exampleForm(), reservedConcurrency: 5 }, path, value));
    expect(found).toEqual([more.length > 0 ? expect.stringContaining(beginning) : beginning]);
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

  // @see github-aws-runners/terraform-aws-github-runner#3594
  it('name more services than fit into the variables of a function', () => {
    const faults = (service: object) => {
      const names = Array.from({ length: 110 }, (_, index) => [`merchant-payments-${index + 100}`, service]);
      return faultsOf({ ...exampleForm(), accessRules: [], services: Object.fromEntries(names) });
    };
    expect(faults({ authUrl })).toEqual([]);
    expect(faults({ authUrl, singleActiveToken: true })).toEqual([
      'services: have 4729 characters in their names, and 3300 fit into variables of a function',
    ]);
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
