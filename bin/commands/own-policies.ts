import { identityPolicy } from '../../client/commands/policy.ts';
import { sealingKeyName } from '../../functions/contract.ts';
import type { Environment } from '../../lib/settings/environment.ts';
import {
  ALIAS,
  functionName,
  healthFunctionName,
  partitionOf,
  releaseCheckName,
  stackName,
  tableName,
  tokenRoleName,
  topicName,
  urlParameterName,
} from '../../lib/settings/names.ts';

/** The permissions, in an environment's account, to deploy it, operate it, or stop it in an emergency. */
export const OWN_POLICIES = {
  deploy: {
    statements: deploy,
    text: 'of who deploys: the roles of the CDK bootstrap, the outputs, one run of health',
  },
  execution: { statements: execution, text: 'of the role with which CloudFormation makes the stack' },
  operator: { statements: operator, text: 'of who looks after the clients; it reads no credential' },
  emergency: { statements: emergency, text: 'of who may stop the broker or a client in an emergency' },
} as const;

/** The identity policy for one of these, as narrow as the names of an environment allow. */
export function ownPolicy(kind: keyof typeof OWN_POLICIES, environment: Environment) {
  return { Version: '2012-10-17', Statement: OWN_POLICIES[kind].statements(environment) };
}

function deploy(environment: Environment): readonly object[] {
  const { account, region } = environment;
  const { alias, health, stack } = resourcesOf(environment);
  const roles = ['deploy', 'file-publishing', 'lookup'].map((role) =>
    arn(environment, 'iam', `role/cdk-*-${role}-role-${account}-${region}`, ''),
  );
  return [
    allow('UseTheBootstrap', 'sts', 'AssumeRole', roles),
    allow('ReadTheOutputs', 'cloudformation', 'DescribeStacks', stack),
    allow('UndoAFailedCreation', 'cloudformation', 'UpdateTerminationProtection', stack),
    // For `doctor`: it asks without a client, so no access rule is needed.
    ...identityPolicy(alias).Statement,
    allow('RunHealthOnce', 'lambda', 'InvokeFunction', health),
  ];
}

/** The actions with which CloudFormation makes, changes, reads and removes the template's resources, by service. */
function execution(environment: Environment): readonly object[] {
  const { name, account, region } = environment;
  const { functions, health, table, sealingKey } = resourcesOf(environment);
  const own = `${stackName(name)}-*`;
  const roles = [own, tokenRoleName(name)].map((role) => arn(environment, 'iam', `role/${role}`, ''));
  const at = (service: string, ...resources: readonly string[]) =>
    resources.map((one) => arn(environment, service, one));
  const trail = environment.trail === 'off' ? [] : ['cloudtrail'];
  const passed = ['codedeploy', 'lambda', 'scheduler', ...trail].map((service) => `${service}.amazonaws.com`);
  const tags = { 'aws:RequestTag/application': 'token-broker', 'aws:RequestTag/environment': name };
  const users = ['dynamodb', 'secretsmanager'];
  const bucket = `arn:${partitionOf(region)}:s3:::`;
  const life = (Sid: string, service: keyof typeof LIFE, Resource: string | readonly string[], Condition?: object) =>
    allow(Sid, service, LIFE[service], Resource, Condition);
  return [
    allow('ReadTheAssets', 's3', 'GetObject', `${bucket}cdk-*-assets-${account}-${region}/*`),
    allow('ReadTheBootstrap', 'ssm', 'GetParameters', at('ssm', 'parameter/cdk-bootstrap/*')),
    life('Functions', 'lambda', [...functions, health, ...at('lambda', `function:${releaseCheckName(name)}`)]),
    life('Roles', 'iam', roles),
    allow('PassRoles', 'iam', 'PassRole', roles, { StringEquals: { 'iam:PassedToService': passed } }),
    life('Table', 'dynamodb', table),
    life('SealingKey', 'secretsmanager', [sealingKey]),
    allow('MakeUpTheSealingKey', 'secretsmanager', 'GetRandomPassword', '*'),
    allow('MakeTheKey', 'kms', 'CreateKey', '*', { StringEquals: tags }),
    life('Key', 'kms', ...keyOf(environment)),
    allow('UseTheKeyForThem', 'kms', `${KEY_USE} CreateGrant DescribeKey Encrypt`, ...keyOf(environment, users)),
    life('Topic', 'sns', at('sns', topicName(name), `${topicName(name)}:*`)),
    life('Queue', 'sqs', at('sqs', own)),
    life('Logs', 'logs', at('logs', `log-group:${own}`)),
    life('Alarms', 'cloudwatch', [
      ...at('cloudwatch', `alarm:token-broker-*-${name}`),
      arn(environment, 'cloudwatch', `dashboard/${functionName(name)}-${region}`, ''),
    ]),
    life('Url', 'ssm', at('ssm', `parameter${urlParameterName(name)}`)),
    life('Rule', 'events', at('events', `rule/${own}`)),
    life('Schedule', 'scheduler', at('scheduler', `schedule/default/${healthFunctionName(name)}`)),
    life('Canary', 'codedeploy', [
      ...at('codedeploy', `application:${functionName(name)}`, `deploymentgroup:${functionName(name)}/*`),
      ...at('codedeploy', 'deploymentconfig:*'),
    ]),
    ...trail.flatMap(() => [
      life('Trail', 'cloudtrail', at('cloudtrail', `trail/${functionName(name)}`)),
      life('Records', 's3', `${bucket}${own.toLowerCase()}`),
    ]),
    // AWS knows no narrower resource for these lists.
    { ...allow('Look', '', '', '*'), Action: [...LOOK, ...trail.map((service) => `${service}:DescribeTrails`)] },
    ...(environment.vpc === undefined ? [] : [life('LookAtTheVpc', 'ec2', '*')]),
  ];
}

function operator(environment: Environment): readonly object[] {
  const { name } = environment;
  const { functions, sealingKey, secrets, stack } = resourcesOf(environment);
  const logs = arn(environment, 'logs', `log-group:${stackName(name)}-*`);
  return [
    allow('ReadTheOutputs', 'cloudformation', 'DescribeStacks', stack),
    allow('SeeTheSubscribers', 'sns', 'GetTopicAttributes', arn(environment, 'sns', topicName(name))),
    allow('ListTheSecrets', 'secretsmanager', 'ListSecrets', '*'),
    allow('LookAfterTheSecrets', 'secretsmanager', `${POLICY} ${ROTATE} ${KEEP}`, secrets),
    allow('RotateTheSealingKey', 'secretsmanager', ROTATE, sealingKey),
    allow('ReadTheAuditLines', 'logs', 'FilterLogEvents', logs),
    allow('FindTheLog', 'lambda', 'GetFunctionConfiguration', functions),
    allow('EncryptThem', 'kms', KEY_USE, ...keyOf(environment, ['secretsmanager'])),
    ...changeTheTable(environment),
  ];
}

function emergency(environment: Environment): readonly object[] {
  const { functions, secrets, stack } = resourcesOf(environment);
  const deployments = arn(environment, 'codedeploy', `deploymentgroup:${functionName(environment.name)}/*`);
  return [
    allow('ReadTheOutputs', 'cloudformation', 'DescribeStacks', stack),
    allow('StopTheBroker', 'lambda', CONCURRENCY, functions),
    allow('PutAnEarlierVersionBack', 'lambda', 'GetAlias ListVersionsByFunction UpdateAlias', functions),
    allow('StopADeployment', 'codedeploy', 'GetDeployment ListDeployments StopDeployment', deployments),
    allow('DenyASecret', 'secretsmanager', POLICY, secrets),
    ...changeTheTable(environment),
  ];
}

/** The flags of clients and pairs; its tokens are sealed. */
function changeTheTable(environment: Environment): readonly object[] {
  return [
    allow('ChangeTheTable', 'dynamodb', 'GetItem UpdateItem', resourcesOf(environment).table),
    allow('UseItsKey', 'kms', `${KEY_USE} DescribeKey Encrypt`, ...keyOf(environment, ['dynamodb'])),
  ];
}

/** `actions` of a service, with spaces between. */
function allow(
  Sid: string,
  service: string,
  actions: string,
  Resource: string | readonly string[],
  Condition?: object,
) {
  const Action = actions.split(' ').map((name) => `${service}:${name}`);
  return { Sid, Effect: 'Allow' as const, Action, Resource, ...(Condition && { Condition }) };
}

/** Of a resource in the account of an environment. */
export function arn({ account, region }: ArnPlace, service: string, resource: string, place: string = region): string {
  return `arn:${partitionOf(region)}:${service}:${place}:${account}:${resource}`;
}

type ArnPlace = Pick<Environment, 'account' | 'region'>;

/** The resources that several policies name. */
function resourcesOf(environment: Environment) {
  const { name } = environment;
  const token = arn(environment, 'lambda', `function:${functionName(name)}`);
  return {
    stack: arn(environment, 'cloudformation', `stack/${stackName(name)}/*`),
    table: arn(environment, 'dynamodb', `table/${tableName(name)}`),
    /** The token function, with its alias and versions. */
    functions: [token, `${token}:*`],
    alias: `${token}:${ALIAS}`,
    health: arn(environment, 'lambda', `function:${healthFunctionName(name)}`),
    secrets: arn(environment, 'secretsmanager', `secret:token-broker/${name}/*`),
    sealingKey: arn(environment, 'secretsmanager', `secret:${sealingKeyName(name)}-*`),
  };
}

/** The key of the environment, known by its tags unless the settings name it; `services` that may use it for a principal. */
function keyOf(environment: Environment, services: readonly string[] = []): readonly [string, object | undefined] {
  const { name, region, keyArn } = environment;
  const via = services.map((service) => `${service}.${region}.amazonaws.com`);
  const equals = {
    ...(via.length > 0 && { 'kms:ViaService': via }),
    ...(keyArn === undefined && { 'aws:ResourceTag/application': 'token-broker', 'aws:ResourceTag/environment': name }),
  };
  const condition = Object.keys(equals).length === 0 ? undefined : { StringEquals: equals };
  return [keyArn ?? arn(environment, 'kms', 'key/*'), condition];
}

const LOOK = ['cloudwatch:DescribeAlarms', 'codedeploy:ListDeploymentConfigs', 'logs:DescribeLogGroups'];
const POLICY = 'DeleteResourcePolicy DescribeSecret GetResourcePolicy PutResourcePolicy';
const ROTATE = 'ListSecretVersionIds PutSecretValue UpdateSecretVersionStage';
const KEEP = 'CreateSecret DeleteSecret RestoreSecret TagResource UntagResource';
const CONCURRENCY =
  'DeleteFunctionConcurrency DeleteProvisionedConcurrencyConfig GetFunctionConcurrency PutFunctionConcurrency PutProvisionedConcurrencyConfig';
const KEY_USE = 'Decrypt GenerateDataKey';

/** CloudFormation's actions over the life of a resource; none reads stored data, and none calls a function. */
const LIFE = {
  // *agResource is TagResource and UntagResource: a managed policy has room for 6 144 characters.
  lambda: 'AddPermission Create* Delete* Get* List* PublishVersion Put* RemovePermission *agResource Update*',
  iam: 'CreateRole DeleteRole DeleteRolePolicy GetRole* List* PutRole* *agRole Update*',
  dynamodb: 'CreateTable DeleteTable Describe* GetResourcePolicy ListTagsOfResource *agResource UpdateT*',
  secretsmanager: 'CreateSecret DeleteSecret DescribeSecret *ResourcePolicy *agResource UpdateSecret',
  kms: 'DescribeKey EnableKeyRotation GetKey* ListResourceTags PutKeyPolicy ScheduleKeyDeletion *agResource UpdateKeyDescription',
  sns: 'CreateTopic DeleteTopic Get* List* SetTopicAttributes Subscribe Unsubscribe *agResource',
  sqs: 'CreateQueue DeleteQueue GetQueue* ListQueueTags SetQueueAttributes *agQueue',
  logs: 'AssociateKmsKey CreateLogGroup DeleteLogGroup ListTagsForResource *MetricFilter* PutRetentionPolicy *agResource',
  cloudwatch: 'DeleteAlarms DeleteDashboards GetDashboard ListTagsForResource PutDashboard PutMetricAlarm *agResource',
  events: 'DeleteRule DescribeRule List* Put* RemoveTargets *agResource',
  scheduler: 'Create* Delete* Get* Update*',
  ssm: 'DeleteParameter Get* Put* *Tags*Resource',
  codedeploy: 'Create* Delete* Get* ListTagsForResource RegisterApplicationRevision StopDeployment *agResource Update*',
  ec2: 'DescribeSecurityGroups DescribeSubnets DescribeVpcs',
  cloudtrail: 'Get* Put* *Logging *Tags *Trail',
  s3: 'CreateBucket DeleteBucketPolicy GetBucket* Get*Configuration PutBucket* Put*Configuration',
} as const;
