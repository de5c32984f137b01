import { describe, expect, it } from 'vitest';
import { ownPolicies } from '../../../cli/policy/own-policies.ts';
import { parseEnvironment } from '../../../lib/settings/settings.ts';
import { type Context, isAllowed, type Request } from '../../support/aws/iam.ts';
import { policiesOf } from '../../support/aws/iam-world.ts';
import { deployStack } from '../../support/stack/deployed-stack.ts';
import { exampleForm } from '../../unit/settings/example-form.ts';

const ROLE = 'arn:aws:iam::111111111111:role/own';
const stack = deployStack('test', exampleForm());
const environment = parseEnvironment('test', exampleForm());
const TAGS = { 'aws:ResourceTag/application': 'token-broker', 'aws:ResourceTag/environment': 'test' };
const at = (service: string, resource: string) => `arn:aws:${service}:eu-west-1:111111111111:${resource}`;

const FUNCTION = at('lambda', 'function:token-broker-test');
const SECRET = at('secretsmanager', 'secret:token-broker/test/acme-Zz9Yy8');
const SEALING_KEY = stack.arnOf('PairTable', 'AWS::SecretsManager::Secret');
const TABLE_ARN = at('dynamodb', 'table/token-broker-test');
const STACK = at('cloudformation', 'stack/TokenBroker-test/0123');
const DEPLOYMENTS = at('codedeploy', 'deploymentgroup:token-broker-test/token-broker-test');
const STORE = 'Decrypt GenerateDataKey';
const TABLE = 'Decrypt DescribeKey Encrypt GenerateDataKey';

/** The requests of a role's commands: a service, its actions, and their resource or the service that uses the key. */
type Calls = readonly (readonly [service: string, actions: string, on: string])[];

const CHANGE_PAIRS: Calls = [
  ['dynamodb', 'GetItem UpdateItem', TABLE_ARN],
  ['kms', TABLE, 'dynamodb'],
];
const OPERATOR: Calls = [
  ['cloudformation', 'DescribeStacks', STACK],
  ['lambda', 'GetFunctionConfiguration', FUNCTION],
  ['logs', 'FilterLogEvents', at('logs', 'log-group:TokenBroker-test-TokenEndpointLog-0123:*')],
  ['sns', 'GetTopicAttributes', at('sns', 'token-broker-test')],
  ['secretsmanager', 'ListSecrets', '*'],
  ['secretsmanager', 'DescribeSecret ListSecretVersionIds PutSecretValue UpdateSecretVersionStage', SECRET],
  ['secretsmanager', 'TagResource UntagResource DeleteSecret RestoreSecret GetResourcePolicy', SECRET],
  ['kms', STORE, 'secretsmanager'],
  ...CHANGE_PAIRS,
];
const EMERGENCY: Calls = [
  ['cloudformation', 'DescribeStacks', STACK],
  ['secretsmanager', 'DescribeSecret GetResourcePolicy PutResourcePolicy DeleteResourcePolicy', SECRET],
  ['lambda', 'GetAlias UpdateAlias ListVersionsByFunction', FUNCTION],
  ['lambda', 'GetFunctionConcurrency PutFunctionConcurrency DeleteFunctionConcurrency', FUNCTION],
  ['lambda', 'PutProvisionedConcurrencyConfig DeleteProvisionedConcurrencyConfig', `${FUNCTION}:live`],
  ['codedeploy', 'ListDeployments GetDeployment', DEPLOYMENTS],
  ['codedeploy', 'StopDeployment', '*'],
  ...CHANGE_PAIRS,
];
const SEALING: Calls = [
  ['secretsmanager', 'ListSecretVersionIds PutSecretValue UpdateSecretVersionStage', SEALING_KEY],
  ['kms', STORE, 'secretsmanager'],
];
const DEPLOY: Calls = [
  ['cloudformation', 'DescribeStacks GetTemplate UpdateTerminationProtection', STACK],
  ['lambda', 'InvokeFunction GetFunctionConcurrency', at('lambda', 'function:token-broker-health-test')],
  ['lambda', 'GetFunctionConcurrency', FUNCTION],
  ['lambda', 'GetProvisionedConcurrencyConfig', `${FUNCTION}:live`],
  ['lambda', 'GetAccountSettings', '*'],
];

it.each([
  ['operator', OPERATOR] as const,
  ['emergency', EMERGENCY] as const,
  ['sealingKey', SEALING] as const,
  ['deploy', DEPLOY] as const,
])('the policy for the role %s lets its commands do their work, and has no action for other work', (kind, calls) => {
  const policies = policiesWith(kind);
  const requests = calls.flatMap(([service, actions, on]) =>
    actions
      .split(' ')
      .map((action) => ({ action: `${service}:${action}`, ...(service === 'kms' ? ofKey(on) : { resource: on }) })),
  );
  if (kind === 'operator') requests.push(newSecret());
  expect(requests.filter((request) => !isAllowed(policies, { requester: ROLE, ...request }))).toEqual([]);
  // The CDK has actions of its own, through the roles of the bootstrap.
  if (kind === 'deploy') return;
  const allowed = policies.ofRole(ROLE).filter(({ Effect }) => Effect === 'Allow');
  expect(new Set(allowed.flatMap(({ Action }) => Action))).toEqual(new Set(requests.map(({ action }) => action)));
});

describe('the operator', () => {
  const operator = policiesWith('operator');
  const may = (request: Omit<Request, 'requester'>, policies = operator) =>
    isAllowed(policies, { requester: ROLE, ...request });
  const deletion = (context: Context) => ({ action: 'secretsmanager:DeleteSecret', resource: SECRET, context });

  it.each<[what: string, request: Omit<Request, 'requester'>, allowed: boolean]>([
    ['marks a secret for deletion, as client delete does', deletion({}), true],
    ['leaves the longest time to restore it', deletion({ 'secretsmanager:RecoveryWindowInDays': '30' }), true],
    ['leaves a shorter time', deletion({ 'secretsmanager:RecoveryWindowInDays': '29' }), false],
    ['deletes it at once', deletion({ 'secretsmanager:ForceDeleteWithoutRecovery': 'true' }), false],
    ['says that it does not', deletion({ 'secretsmanager:ForceDeleteWithoutRecovery': 'false' }), true],
    ['creates a secret, as client put does', newSecret(), true],
    ['creates it where AWS compares the name alone', { ...newSecret(), resource: SECRET.slice(0, -7) }, true],
    ['creates it under the default key of the account', newSecret({ 'secretsmanager:KmsKeyArn': undefined }), false],
    [
      'creates it under a key of another account',
      newSecret({ 'secretsmanager:KmsKeyArn': 'arn:aws:kms:eu-west-1:222222222222:key/0123' }),
      false,
    ],
    ['creates a copy elsewhere', newSecret({ 'secretsmanager:AddReplicaRegions': ['eu-central-1'] }), false],
    ['copies a secret elsewhere', { action: 'secretsmanager:ReplicateSecretToRegions', resource: SECRET }, false],
    ['creates a secret of another environment', newSecret({ 'secretsmanager:Name': 'token-broker/prod/acme' }), false],
  ])('%s: only if client delete can be undone and the key is the account’s', (_, request, allowed) => {
    expect(may(request)).toBe(allowed);
  });

  it.each<[client: string, own: boolean]>([
    ['acme', true],
    ['acme-2', false],
    ['retail-eu', true],
    ['retail', false],
    ['globex', false],
  ])('of the clients acme,retail-* looks after %s: %s', (client, own) => {
    const policies = policiesWith('operator', ['acme', 'retail-*']);
    const resource = at('secretsmanager', `secret:token-broker/test/${client}-Zz9Yy8`);
    const name = { 'secretsmanager:Name': `token-broker/test/${client}` };
    const ofPair = { 'dynamodb:LeadingKeys': [`${client}/customer-insights`] };
    const requests = [
      { action: 'secretsmanager:PutSecretValue', resource },
      { action: 'secretsmanager:DeleteSecret', resource },
      { ...newSecret(name), resource },
      { action: 'dynamodb:UpdateItem', resource: TABLE_ARN, context: ofPair },
    ];
    expect(requests.map((request) => may(request, policies))).toEqual(requests.map(() => own));
    const lines = { action: 'logs:FilterLogEvents', resource: at('logs', 'log-group:TokenBroker-test-Log:*') };
    expect([may(lines, policies), may(lines)]).toEqual([false, true]);
  });
});

it.each([
  ['operator', undefined, true],
  ['operator', ['acme'], false],
  ['emergency', undefined, false],
] as const)(
  'the role %s of the clients %s changes pairs, and reads what health remembers of its messages: %s',
  (...row) => {
    const [kind, clients, reads] = row;
    const mayDo = (operation: string) => (key: string) => {
      const context = { 'dynamodb:LeadingKeys': [key] };
      const request = { action: `dynamodb:${operation}`, resource: TABLE_ARN, context };
      return isAllowed(policiesWith(kind, clients), { requester: ROLE, ...request });
    };
    const keys = ['acme/customer-insights', 'notify:customer-insights', 'notify::run'];
    expect(keys.map(mayDo('UpdateItem'))).toEqual([true, false, false]);
    expect(keys.map(mayDo('GetItem'))).toEqual([true, reads, reads]);
  },
);

/** The request of `client put` for a client that has no secret yet. */
function newSecret(changes: Readonly<Record<string, Context[string] | undefined>> = {}) {
  const KmsKeyArn = stack.arnOf('ClientSecrets', 'AWS::KMS::Key');
  const members = { 'secretsmanager:Name': 'token-broker/test/acme', 'secretsmanager:KmsKeyArn': KmsKeyArn };
  const known = Object.entries({ ...members, ...changes }).flatMap(([key, value]) => (value ? [[key, value]] : []));
  return { action: 'secretsmanager:CreateSecret', resource: SECRET, context: Object.fromEntries(known) };
}

function policiesWith(kind: Parameters<typeof ownPolicies>[0], clients?: readonly string[]) {
  const Statement = ownPolicies(kind, environment, undefined, clients).flatMap((policy) => policy.Statement);
  return policiesOf(stack.resources, { [ROLE]: { Version: '2012-10-17', Statement } });
}

function ofKey(service: string) {
  const through = { 'kms:CallerAccount': '111111111111', 'kms:ViaService': `${service}.eu-west-1.amazonaws.com` };
  return { resource: stack.arnOf('ClientSecrets', 'AWS::KMS::Key'), context: { ...TAGS, ...through } };
}
