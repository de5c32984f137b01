import {
  functionName,
  healthFunctionName,
  releaseCheckName,
  stackName,
  tokenRoleName,
  topicName,
  urlParameterName,
} from '../../lib/settings/names.ts';
import { partitionOf } from '../../lib/settings/regions.ts';
import type { Environment } from '../../lib/settings/settings.ts';
import { allow, arn, type Bootstrap, KEY_USE, keyOf, resourcesOf, STOP_A_DEPLOYMENT, tagsOf } from './statements.ts';

/**
 * Returns the statements with which CloudFormation makes, changes, reads and removes the template's resources. Every
 * role that it creates or grants rights to must have the permissions boundary, if it is set.
 */
export function execution(environment: Environment, { qualifier, boundary }: Bootstrap): readonly object[] {
  const { name, account, region, keyArn, logDestinationArn } = environment;
  const { functions, health, table, sealingKey } = resourcesOf(environment);
  const others = [health, arn(environment, 'lambda', `function:${releaseCheckName(name)}`)];
  // CloudFormation cuts the name of a stack to fit the names that it makes: a role has 64 characters, a bucket 63.
  const own = `${`${stackName(name)}-`.slice(0, 25)}*`;
  const roles = [own, tokenRoleName(name)].map((role) => arn(environment, 'iam', `role/${role}`, ''));
  const at = (service: string, ...resources: readonly string[]) =>
    resources.map((name) => arn(environment, service, name));
  const trail = environment.trail === 'off' ? [] : ['cloudtrail'];
  const passed = ['codedeploy', 'lambda', 'scheduler', ...trail].map((service) => `${service}.amazonaws.com`);
  const users = ['dynamodb', 'secretsmanager'];
  const bounded = boundary === undefined ? undefined : { StringEquals: { 'iam:PermissionsBoundary': boundary } };
  const bucket = `arn:${partitionOf(region)}:s3:::`;
  const life = (Sid: string, service: keyof typeof LIFE, Resource: string | readonly string[], Condition?: object) =>
    allow(Sid, service, LIFE[service], Resource, Condition);
  return [
    // A bucket of this name in another account could be a stranger's.
    allow('ReadTheAssets', 's3', 'GetObject', `${bucket}cdk-${qualifier}-assets-${account}-${region}/*`, {
      StringEquals: { 'aws:ResourceAccount': account },
    }),
    allow('ReadTheBootstrap', 'ssm', 'GetParameters', at('ssm', `parameter/cdk-bootstrap/${qualifier}/*`)),
    life('Functions', 'lambda', [...functions, ...others.flatMap((name) => [name, `${name}:*`])]),
    life('Roles', 'iam', roles),
    allow('GiveRolesRights', 'iam', 'CreateRole PutRole*', roles, bounded),
    allow('PassRoles', 'iam', 'PassRole', roles, { StringEquals: { 'iam:PassedToService': passed } }),
    life('Table', 'dynamodb', table),
    life('SealingKey', 'secretsmanager', [sealingKey]),
    allow('MakeUpTheSealingKey', 'secretsmanager', 'GetRandomPassword', '*'),
    ...(keyArn === undefined ? makeTheKey(environment) : []),
    allow('UseTheKeyForThem', 'kms', `${KEY_USE} ${LEND}`, ...keyOf(environment, { users, isFresh: true })),
    life('Topic', 'sns', at('sns', topicName(name), `${topicName(name)}:*`)),
    life('Queue', 'sqs', at('sqs', own)),
    life('Logs', 'logs', at('logs', `log-group:${own}`)),
    // Logs asks for the right on both ends.
    ...(logDestinationArn === undefined
      ? []
      : [allow('SendTheLog', 'logs', '*SubscriptionFilter*', [...at('logs', `log-group:${own}`), logDestinationArn])]),
    life('Alarms', 'cloudwatch', [
      ...at('cloudwatch', `alarm:token-broker-*-${name}`),
      arn(environment, 'cloudwatch', `dashboard/${functionName(name)}-${region}`, ''),
    ]),
    // A single statement for three services is shorter and allows no more: an action applies to its own service only.
    {
      ...allow('RuleScheduleUrl', '', '', [
        ...at('events', `rule/${own}`),
        ...at('scheduler', `schedule/default/${healthFunctionName(name)}`),
        ...at('ssm', `parameter${urlParameterName(name)}`),
      ]),
      Action: (['events', 'scheduler', 'ssm'] as const).flatMap((service) =>
        LIFE[service].split(' ').map((action) => `${service}:${action}`),
      ),
    },
    life('Canary', 'codedeploy', [
      ...at('codedeploy', `application:${functionName(name)}`, `deploymentgroup:${functionName(name)}/*`),
      ...at('codedeploy', 'deploymentconfig:*'),
    ]),
    STOP_A_DEPLOYMENT,
    ...trail.flatMap(() => [
      life('Trail', 'cloudtrail', at('cloudtrail', `trail/${functionName(name)}`)),
      life('Records', 's3', `${bucket}${own.slice(0, 24).toLowerCase()}*`),
    ]),
    // AWS defines no narrower resource for these lists.
    { ...allow('Look', '', '', '*'), Action: [...LOOK, ...trail.map((service) => `${service}:DescribeTrails`)] },
    ...(environment.vpc === undefined ? [] : [life('LookAtTheVpc', 'ec2', '*')]),
  ];
}

/**
 * Checks the tags of the request: `CreateKey` with tags needs `TagResource` before key and tags exist. A key of others,
 * with other tags, stays denied. Tags take minutes to apply, so `FinishTheKey` has no tag condition.
 *
 * @see https://docs.aws.amazon.com/kms/latest/developerguide/tag-permissions.html
 */
function makeTheKey(environment: Environment): readonly object[] {
  const StringEquals = tagsOf('RequestTag', environment);
  const StringEqualsIfExists = tagsOf('ResourceTag', environment);
  const key = arn(environment, 'kms', 'key/*');
  return [
    allow('MakeTheKey', 'kms', 'CreateKey TagResource', '*', { StringEquals, StringEqualsIfExists }),
    allow('FinishTheKey', 'kms', 'DescribeKey EnableKeyRotation GetKey* ListResourceTags', key),
    allow('Key', 'kms', LIFE.kms, ...keyOf(environment)),
  ];
}

const LEND = 'CreateGrant DescribeKey Encrypt RevokeGrant';

const LOOK = [
  'cloudwatch:DescribeAlarms',
  'codedeploy:ListDeploymentConfigs',
  'kms:ListAliases',
  'logs:DescribeIndexPolicies',
  'logs:DescribeLogGroups',
  'logs:DescribeResourcePolicies',
];

/** CloudFormation's actions on a resource, from the public type schemas. No action reads data or calls a function. */
const LIFE = {
  // *agResource is TagResource and UntagResource: a managed policy has room for 6 144 characters.
  lambda: 'AddPermission Create* Delete* Get* List* PublishVersion Put* RemovePermission *agResource Update*',
  iam: 'DeleteRole DeleteRolePolicy GetRole* List* *agRole Update*',
  dynamodb: 'CreateTable DeleteTable Describe* GetResourcePolicy ListTagsOfResource *agResource UpdateT*',
  secretsmanager: 'CreateSecret DeleteSecret DescribeSecret *ResourcePolicy *agResource UpdateSecret',
  kms: 'PutKeyPolicy ScheduleKeyDeletion *agResource UpdateKeyDescription',
  sns: 'CreateTopic DeleteTopic Get* List* Set*Attributes Subscribe Unsubscribe *agResource',
  sqs: 'CreateQueue DeleteQueue GetQueue* ListQueueTags SetQueueAttributes *agQueue',
  logs: '*sociateKmsKey CreateLogGroup DeleteLogGroup GetDataProtectionPolicy ListTagsForResource *MetricFilter* *RetentionPolicy *agResource',
  cloudwatch: 'DeleteAlarms DeleteDashboards GetDashboard ListTagsForResource PutDashboard Put*Alarm *agResource',
  events: 'DeleteRule DescribeRule List* Put* RemoveTargets *agResource',
  scheduler: 'Create* Delete* Get* Update*',
  ssm: 'DeleteParameter Get* Put* *Tags*Resource',
  codedeploy:
    'Create* Delete* Get* ListDeployments ListTagsForResource RegisterApplicationRevision *agResource Update*',
  ec2: 'DescribeNetworkInterfaces DescribeSecurityGroups DescribeSubnets DescribeVpcs',
  cloudtrail: 'Get* Put* *Logging *Tags *Trail',
  s3: 'CreateBucket DeleteBucketPolicy GetBucket* Get*Configuration ListTagsForResource PutBucket* Put*Configuration *agResource',
} as const;
