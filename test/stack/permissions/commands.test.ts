import { expect, it } from 'vitest';
import { ownPolicies } from '../../../bin/commands/policy/own-policies.ts';
import { parseEnvironment } from '../../../lib/settings/settings.ts';
import { isAllowed } from '../../support/aws/iam.ts';
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
const STACK = at('cloudformation', 'stack/TokenBroker-test/0123');
const DEPLOYMENTS = at('codedeploy', 'deploymentgroup:token-broker-test/token-broker-test');
const STORE = 'Decrypt GenerateDataKey';
const TABLE = 'Decrypt DescribeKey Encrypt GenerateDataKey';

/** The requests of a role's commands: a service, its actions, and their resource or the service that uses the key. */
type Calls = readonly (readonly [service: string, actions: string, on: string])[];

const CHANGE_PAIRS: Calls = [
  ['dynamodb', 'GetItem UpdateItem', at('dynamodb', 'table/token-broker-test')],
  ['kms', TABLE, 'dynamodb'],
];
const OPERATOR: Calls = [
  ['cloudformation', 'DescribeStacks', STACK],
  ['lambda', 'GetFunctionConfiguration', FUNCTION],
  ['logs', 'FilterLogEvents', at('logs', 'log-group:TokenBroker-test-TokenEndpointLog-0123:*')],
  ['sns', 'GetTopicAttributes', at('sns', 'token-broker-test')],
  ['secretsmanager', 'ListSecrets', '*'],
  [
    'secretsmanager',
    'CreateSecret DescribeSecret ListSecretVersionIds PutSecretValue UpdateSecretVersionStage',
    SECRET,
  ],
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
const COMMANDS = { operator: OPERATOR, emergency: EMERGENCY, sealingKey: SEALING } as const;

it.each(['operator', 'emergency', 'sealingKey'] as const)(
  'the policy for the role %s lets its commands do their work, and has no action for other work',
  (kind) => {
    const policies = policiesWith(kind);
    const requests = COMMANDS[kind].flatMap(([service, actions, on]) =>
      actions
        .split(' ')
        .map((action) => ({ action: `${service}:${action}`, ...(service === 'kms' ? ofKey(on) : { resource: on }) })),
    );
    expect(requests.filter((request) => !isAllowed(policies, { requester: ROLE, ...request }))).toEqual([]);
    const allowed = policies.ofRole(ROLE).filter(({ Effect }) => Effect === 'Allow');
    expect(new Set(allowed.flatMap(({ Action }) => Action))).toEqual(new Set(requests.map(({ action }) => action)));
  },
);

it('the policy for the role that deploys lets it see the stack, go on after a failed creation, and run health once', () => {
  const policies = policiesWith('deploy');
  const health = at('lambda', 'function:token-broker-health-test');
  for (const [action, resource] of [
    ['cloudformation:DescribeStacks', STACK],
    ['cloudformation:UpdateTerminationProtection', STACK],
    ['lambda:InvokeFunction', health],
  ] as const) {
    expect(isAllowed(policies, { requester: ROLE, action, resource }), action).toBe(true);
  }
});

function policiesWith(kind: Parameters<typeof ownPolicies>[0]) {
  const Statement = ownPolicies(kind, environment).flatMap((policy) => policy.Statement);
  return policiesOf(stack.resources, { [ROLE]: { Version: '2012-10-17', Statement } });
}

function ofKey(service: string) {
  const through = { 'kms:CallerAccount': '111111111111', 'kms:ViaService': `${service}.eu-west-1.amazonaws.com` };
  return { resource: stack.arnOf('ClientSecrets', 'AWS::KMS::Key'), context: { ...TAGS, ...through } };
}
