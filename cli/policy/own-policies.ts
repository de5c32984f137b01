import { identityPolicy } from '../../client/commands/policy.ts';
import { secretName } from '../../functions/vocabulary.ts';
import { functionName, stackName, topicName } from '../../lib/settings/names.ts';
import type { Environment } from '../../lib/settings/settings.ts';
import { DEFAULT_QUALIFIER } from '../../lib/settings/settings-file.ts';
import { execution } from './execution-policy.ts';
import { allow, arn, type Bootstrap, KEY_USE, keyOf, resourcesOf, STOP_A_DEPLOYMENT } from './statements.ts';

/** The policies of the roles that deploy, operate or stop an environment, by option: statements, description. */
export const OWN_POLICIES = {
  deploy: [deploy, 'of the role that deploys: the roles of the CDK bootstrap, the outputs, one run of health'],
  execution: [execution, 'of the role with which CloudFormation makes the stack'],
  operator: [operator, 'of the role that manages the clients; it reads no credential'],
  emergency: [emergency, 'of the role that stops the broker or a client in an emergency'],
  sealingKey: [sealingKey, 'of the role that rotates the sealing key, and does nothing else'],
  boundary: [boundary, 'that is the permissions boundary of the stacks and of the bootstrap'],
  boundaryExceptions: [boundaryExceptions, 'with its denials alone, for a boundary that exists'],
} as const;

/**
 * Returns the identity policy of a role, as narrow as the environment's names allow, in documents that each fit into a
 * managed policy. `clients` limits the operator to clients of these names.
 *
 * @see https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_iam-quotas.html
 */
export function ownPolicies(
  kind: keyof typeof OWN_POLICIES,
  environment: Environment,
  bootstrap: Bootstrap = { qualifier: DEFAULT_QUALIFIER },
  clients = EVERY_CLIENT,
) {
  const document = (Statement: readonly object[]) => ({ Version: '2012-10-17', Statement });
  // Sixty characters are left for an addition.
  const fits = (Statement: readonly object[]) => JSON.stringify(document(Statement)).length <= MAX_CHARACTERS - 60;
  const [statementsOf] = OWN_POLICIES[kind];
  const parts: object[][] = [[]];
  for (const statement of statementsOf(environment, bootstrap, clients)) {
    const last = parts.at(-1) ?? [];
    if (fits([...last, statement])) last.push(statement);
    else parts.push([statement]);
  }
  return parts.map(document);
}

/** The longest managed policy. AWS does not count white space. */
export const MAX_CHARACTERS = 6_144;

/**
 * Allows every right, except those with which a role gains more. The roles of the bootstrap, which may be bounded too,
 * still make the roles of a stack, and health still assumes its probe.
 *
 * @see aws/aws-cdk#31161
 */
function boundary(environment: Environment, bootstrap: Bootstrap): readonly object[] {
  return [
    { Sid: 'EverythingElse', Effect: 'Allow', Action: '*', Resource: '*' },
    ...boundaryExceptions(environment, bootstrap),
  ];
}

function boundaryExceptions(environment: Environment, { qualifier }: Bootstrap): readonly object[] {
  const role = (name: string) => arn(environment, 'iam', `role/${name}`, '');
  const roles = ['cfn-exec', 'deploy', 'lookup'].map(
    (kind) => `cdk-${qualifier}-${kind}-role-${environment.account}-*`,
  );
  const Condition = { ArnNotLike: { 'aws:PrincipalArn': roles.map(role) } };
  const NotResource = role(`${stackName('*')}-CredentialHealthProbe*`);
  return [
    { Sid: 'ChangeRolesOnlyByTheBootstrap', Effect: 'Deny', Action: 'iam:*', Resource: '*', Condition },
    { Sid: 'AssumeOnlyTheProbeOfHealth', Effect: 'Deny', Action: 'sts:AssumeRole', NotResource },
  ];
}

/** Allows the roles of a single bootstrap. That of another could be an administrator's. */
function deploy(environment: Environment, { qualifier }: Bootstrap): readonly object[] {
  const { account, region } = environment;
  const { alias, functions, health, stack } = resourcesOf(environment);
  const roles = ['deploy', 'file-publishing', 'lookup'].map((role) =>
    arn(environment, 'iam', `role/cdk-${qualifier}-${role}-role-${account}-${region}`, ''),
  );
  return [
    allow('UseTheBootstrap', 'sts', 'AssumeRole', roles),
    allow('ReadTheStack', 'cloudformation', 'DescribeStacks GetTemplate', stack),
    allow('UndoAFailedCreation', 'cloudformation', 'UpdateTerminationProtection', stack),
    // `doctor` asks without a client, so the role needs no access rule.
    ...identityPolicy(alias).Statement,
    allow('RunHealthOnce', 'lambda', 'InvokeFunction', health),
    allow('CountTheConcurrency', 'lambda', 'GetFunctionConcurrency GetProvisioned*', [...functions, health]),
    allow('ReadTheQuota', 'lambda', 'GetAccountSettings', '*'),
  ];
}

function operator(environment: Environment, _: unknown, clients: readonly string[]): readonly object[] {
  const { name } = environment;
  const { functions, stack, table } = resourcesOf(environment);
  const logs = arn(environment, 'logs', `log-group:${stackName(name)}-*`);
  const names = clients.map((client) => secretName(name, client));
  // AWS appends six characters to a name: `a-*` must not cover `a-Zz9Yy8`.
  const secrets = names.map((name) => arn(environment, 'secretsmanager', `secret:${name}-??????`));
  const [key] = keyOf(environment);
  const audit = [
    allow('ReadTheAuditLines', 'logs', 'FilterLogEvents', logs),
    allow('FindTheLog', 'lambda', 'GetFunctionConfiguration', functions),
  ];
  const recall = allow('ReadWhatHealthFound', 'dynamodb', 'GetItem', table, {
    'ForAllValues:StringLike': { 'dynamodb:LeadingKeys': ['notify:*'] },
  });
  return [
    allow('ReadTheOutputs', 'cloudformation', 'DescribeStacks', stack),
    allow('SeeTheSubscribers', 'sns', 'GetTopicAttributes', arn(environment, 'sns', topicName(name))),
    allow('ListTheSecrets', 'secretsmanager', 'ListSecrets', '*'),
    allow('LookAfterTheSecrets', 'secretsmanager', `${LOOK_AT} ${ROTATE} ${KEEP}`, secrets),
    // Only under keys of the account. No command here could stop a copy in another region.
    allow('CreateSecrets', 'secretsmanager', 'CreateSecret', resourcesOf(environment).secrets, {
      StringLike: { 'secretsmanager:Name': names },
      ArnLike: { 'secretsmanager:KmsKeyArn': key },
      Null: { 'secretsmanager:KmsKeyArn': 'false', 'secretsmanager:AddReplicaRegions': 'true' },
    }),
    // Without these members a request leaves 30 days to restore the secret.
    allow('MarkForDeletion', 'secretsmanager', 'DeleteSecret', secrets, {
      BoolIfExists: { 'secretsmanager:ForceDeleteWithoutRecovery': 'false' },
      NumericGreaterThanEqualsIfExists: { 'secretsmanager:RecoveryWindowInDays': '30' },
    }),
    // Neither the log nor the memory of health can be limited to some clients.
    ...(clients === EVERY_CLIENT ? [...audit, recall] : []),
    ...storeSecrets(environment),
    ...changeTheTable(environment, clients),
  ];
}

/** Names of clients. A name that ends in `*` covers every name with that beginning. */
const EVERY_CLIENT: readonly string[] = ['*'];

function sealingKey(environment: Environment): readonly object[] {
  const { sealingKey } = resourcesOf(environment);
  return [allow('RotateTheSealingKey', 'secretsmanager', ROTATE, sealingKey), ...storeSecrets(environment)];
}

/**
 * Allows storing values, for which AWS requires the right to decrypt too. Within an account a secret's policy could
 * then suffice to read it. The Deny prevents that, also against another policy.
 */
function storeSecrets(environment: Environment): readonly object[] {
  const reads = allow('ReadNoSecret', 'secretsmanager', 'BatchGetSecretValue GetSecretValue', '*');
  return [
    allow('EncryptThem', 'kms', KEY_USE, ...keyOf(environment, { users: ['secretsmanager'] })),
    { ...reads, Effect: 'Deny' as const },
  ];
}

function emergency(environment: Environment): readonly object[] {
  const { functions, secrets, stack } = resourcesOf(environment);
  const deployments = arn(environment, 'codedeploy', `deploymentgroup:${functionName(environment.name)}/*`);
  return [
    allow('ReadTheOutputs', 'cloudformation', 'DescribeStacks', stack),
    allow('StopTheBroker', 'lambda', CONCURRENCY, functions),
    allow('PutAnEarlierVersionBack', 'lambda', 'GetAlias ListVersionsByFunction UpdateAlias', functions),
    allow('SeeADeployment', 'codedeploy', 'GetDeployment ListDeployments', deployments),
    STOP_A_DEPLOYMENT,
    allow('DenyASecret', 'secretsmanager', `${LOOK_AT} DeleteResourcePolicy PutResourcePolicy`, secrets),
    ...changeTheTable(environment),
  ];
}

/** Allows changes to the records of pairs, whose tokens are sealed, and not to what health remembers next to them. */
function changeTheTable(environment: Environment, clients = EVERY_CLIENT): readonly object[] {
  const ofPairs = { 'ForAllValues:StringLike': { 'dynamodb:LeadingKeys': clients.map((client) => `${client}/*`) } };
  return [
    allow('ChangeTheTable', 'dynamodb', 'GetItem UpdateItem', resourcesOf(environment).table, ofPairs),
    allow('UseItsKey', 'kms', `${KEY_USE} DescribeKey Encrypt`, ...keyOf(environment, { users: ['dynamodb'] })),
  ];
}

const LOOK_AT = 'DescribeSecret GetResourcePolicy';
const ROTATE = 'ListSecretVersionIds PutSecretValue UpdateSecretVersionStage';
const KEEP = 'RestoreSecret TagResource UntagResource';
const CONCURRENCY =
  'DeleteFunctionConcurrency DeleteProvisionedConcurrencyConfig GetFunctionConcurrency PutFunctionConcurrency PutProvisionedConcurrencyConfig';
