import { expect, it } from 'vitest';
import { ownPolicies } from '../../../cli/policy/own-policies.ts';
import { type EnvironmentForm, parseEnvironment } from '../../../lib/settings/settings.ts';
import type { Deployed } from '../../support/aws/cloudformation.ts';
import { type Context, isAllowed } from '../../support/aws/iam.ts';
import { policiesOf } from '../../support/aws/iam-world.ts';
import { deployStack } from '../../support/stack/deployed-stack.ts';
import { ALL_OPTIONS, exampleForm } from '../../unit/settings/example-form.ts';

const ROLE = 'arn:aws:iam::111111111111:role/cdk-hnb659fds-cfn-exec-role-111111111111-eu-west-1';
const slo = { answered: 99.9, withinMs: 1_000 };
const form = { ...exampleForm(), ...ALL_OPTIONS, slo, health: { notify: ['ops@example.com'] } };
const stack = deployStack('test', form);
const policies = policiesFor(form);
const KEY = stack.arnOf('ClientSecrets', 'AWS::KMS::Key');

function policiesFor(settings: EnvironmentForm, name = 'test', { resources } = stack) {
  const Statement = ownPolicies('execution', parseEnvironment(name, settings)).flatMap((one) => one.Statement);
  return policiesOf(resources, { [ROLE]: { Version: '2012-10-17', Statement } });
}

function may(action: string, resource: string, context: Context = {}, own = policies): boolean {
  const ofKey = action.startsWith('kms:') && { 'kms:CallerAccount': '111111111111' };
  return isAllowed(own, { requester: ROLE, action, resource, context: { ...context, ...ofKey } });
}

/**
 * CloudFormation's calls for each type of the template, as the public schema of the type names them under `handlers`:
 * without those for properties that the template does not have, and without the value of a secret, which it never reads.
 *
 * @see https://docs.aws.amazon.com/cloudformation-cli/latest/userguide/resource-type-schema.html
 */
const CALLS: Readonly<Record<string, string>> = {
  'AWS::CloudTrail::Trail':
    'cloudtrail: CreateTrail AddTags StartLogging PutEventSelectors GetTrail GetTrailStatus GetEventSelectors ListTags UpdateTrail StopLogging RemoveTags DeleteTrail',
  'AWS::CloudWatch::Alarm': 'cloudwatch: PutMetricAlarm TagResource ListTagsForResource UntagResource DeleteAlarms',
  'AWS::CloudWatch::CompositeAlarm':
    'cloudwatch: PutCompositeAlarm TagResource ListTagsForResource UntagResource DeleteAlarms',
  'AWS::CloudWatch::Dashboard': 'cloudwatch: PutDashboard GetDashboard DeleteDashboards',
  'AWS::CodeDeploy::Application':
    'codedeploy: CreateApplication TagResource GetApplication ListTagsForResource UntagResource DeleteApplication RegisterApplicationRevision GetApplicationRevision',
  'AWS::CodeDeploy::DeploymentConfig': 'codedeploy: CreateDeploymentConfig GetDeploymentConfig DeleteDeploymentConfig',
  'AWS::CodeDeploy::DeploymentGroup':
    'codedeploy: CreateDeploymentGroup GetDeploymentGroup UpdateDeploymentGroup DeleteDeploymentGroup ListDeployments CreateDeployment GetDeployment TagResource ListTagsForResource UntagResource',
  'AWS::DynamoDB::Table':
    'dynamodb: CreateTable DescribeTable DescribeTimeToLive UpdateTimeToLive DescribeContinuousBackups DescribeContributorInsights DescribeKinesisStreamingDestination ListTagsOfResource TagResource UntagResource UpdateTable GetResourcePolicy DeleteTable',
  'AWS::Events::Rule':
    'events: PutRule DescribeRule PutTargets ListTargetsByRule TagResource ListTagsForResource UntagResource RemoveTargets DeleteRule',
  'AWS::IAM::Policy': 'iam: PutRolePolicy GetRolePolicy DeleteRolePolicy',
  'AWS::IAM::Role':
    'iam: CreateRole GetRole ListRolePolicies GetRolePolicy ListAttachedRolePolicies TagRole UntagRole UpdateRole UpdateRoleDescription UpdateAssumeRolePolicy PutRolePermissionsBoundary DeleteRole',
  'AWS::KMS::Key':
    'kms: DescribeKey EnableKeyRotation GetKeyPolicy GetKeyRotationStatus ListResourceTags PutKeyPolicy TagResource UntagResource UpdateKeyDescription ScheduleKeyDeletion',
  'AWS::Lambda::Alias':
    'lambda: CreateAlias GetAlias UpdateAlias PutProvisionedConcurrencyConfig GetProvisionedConcurrencyConfig DeleteProvisionedConcurrencyConfig DeleteAlias',
  'AWS::Lambda::EventInvokeConfig':
    'lambda: PutFunctionEventInvokeConfig GetFunctionEventInvokeConfig UpdateFunctionEventInvokeConfig DeleteFunctionEventInvokeConfig',
  'AWS::Lambda::Function':
    'lambda: CreateFunction GetFunction GetFunctionCodeSigningConfig GetRuntimeManagementConfig GetFunctionRecursionConfig PutFunctionConcurrency DeleteFunctionConcurrency TagResource ListTags UntagResource UpdateFunctionConfiguration UpdateFunctionCode DeleteFunction',
  'AWS::Lambda::Permission': 'lambda: AddPermission GetPolicy RemovePermission',
  'AWS::Lambda::Url':
    'lambda: CreateFunctionUrlConfig GetFunctionUrlConfig UpdateFunctionUrlConfig DeleteFunctionUrlConfig',
  'AWS::Lambda::Version':
    'lambda: PublishVersion GetFunctionConfiguration GetRuntimeManagementConfig ListVersionsByFunction DeleteFunction',
  'AWS::Logs::LogGroup':
    'logs: CreateLogGroup AssociateKmsKey DisassociateKmsKey PutRetentionPolicy DeleteRetentionPolicy TagResource ListTagsForResource UntagResource GetDataProtectionPolicy DeleteLogGroup',
  'AWS::Logs::MetricFilter': 'logs: PutMetricFilter DescribeMetricFilters DeleteMetricFilter',
  'AWS::Logs::SubscriptionFilter': 'logs: PutSubscriptionFilter DescribeSubscriptionFilters DeleteSubscriptionFilter',
  'AWS::S3::Bucket':
    's3: CreateBucket PutBucketPublicAccessBlock PutEncryptionConfiguration PutLifecycleConfiguration PutBucketVersioning PutBucketTagging TagResource ListTagsForResource GetBucketVersioning GetEncryptionConfiguration GetLifecycleConfiguration',
  'AWS::S3::BucketPolicy': 's3: PutBucketPolicy GetBucketPolicy DeleteBucketPolicy',
  'AWS::SNS::Subscription':
    'sns: Subscribe GetSubscriptionAttributes SetSubscriptionAttributes ListSubscriptionsByTopic Unsubscribe',
  'AWS::SSM::Parameter':
    'ssm: PutParameter AddTagsToResource GetParameters ListTagsForResource RemoveTagsFromResource DeleteParameter',
  'AWS::SNS::Topic':
    'sns: CreateTopic GetTopicAttributes SetTopicAttributes GetDataProtectionPolicy ListSubscriptionsByTopic Subscribe Unsubscribe TagResource ListTagsForResource UntagResource DeleteTopic',
  'AWS::SNS::TopicPolicy': 'sns: SetTopicAttributes GetTopicAttributes',
  'AWS::SQS::Queue':
    'sqs: CreateQueue GetQueueUrl GetQueueAttributes SetQueueAttributes TagQueue ListQueueTags UntagQueue DeleteQueue',
  'AWS::SQS::QueuePolicy': 'sqs: SetQueueAttributes GetQueueAttributes',
  'AWS::Scheduler::Schedule': 'scheduler: CreateSchedule GetSchedule UpdateSchedule DeleteSchedule',
  'AWS::SecretsManager::ResourcePolicy': 'secretsmanager: PutResourcePolicy GetResourcePolicy DeleteResourcePolicy',
  'AWS::SecretsManager::Secret':
    'secretsmanager: CreateSecret DescribeSecret TagResource UntagResource UpdateSecret DeleteSecret',
};

/** The resource of these calls, where it is not the one that the template makes. */
const RESOURCES: Readonly<Record<string, (one: Deployed) => string>> = {
  'AWS::CloudWatch::Dashboard': ({ properties }) =>
    `arn:aws:cloudwatch::111111111111:dashboard/${properties.DashboardName}`,
  'AWS::CodeDeploy::Application': ({ ref }) => at('codedeploy', `application:${ref}`),
  'AWS::CodeDeploy::DeploymentConfig': ({ ref }) => at('codedeploy', `deploymentconfig:${ref}`),
  'AWS::IAM::Policy': ({ properties }) => `arn:aws:iam::111111111111:role/${properties.Roles[0]}`,
  'AWS::Lambda::EventInvokeConfig': functionOf,
  'AWS::Lambda::Permission': functionOf,
  'AWS::Lambda::Url': ({ properties }) => `${properties.TargetFunctionArn}`,
  'AWS::Logs::LogGroup': ({ arn = '' }) => arn.replace(/:\*$/, ''),
  'AWS::Logs::MetricFilter': ({ properties }) => at('logs', `log-group:${properties.LogGroupName}`),
  'AWS::Logs::SubscriptionFilter': ({ properties }) => at('logs', `log-group:${properties.LogGroupName}`),
  'AWS::S3::BucketPolicy': ({ properties }) => `arn:aws:s3:::${properties.Bucket}`,
  'AWS::SNS::Subscription': ({ properties }) => `${properties.TopicArn}:0123`,
  'AWS::SSM::Parameter': ({ properties }) => at('ssm', `parameter${properties.Name}`),
  'AWS::SNS::TopicPolicy': ({ properties }) => `${properties.Topics[0]}`,
  'AWS::SQS::QueuePolicy': ({ properties }) => at('sqs', `${properties.Queues[0]}`.replace(/^.*\//, '')),
  'AWS::Scheduler::Schedule': ({ properties }) => at('scheduler', `schedule/default/${properties.Name}`),
  'AWS::SecretsManager::ResourcePolicy': ({ properties }) => `${properties.SecretId}`,
};

/** Calls that name no resource. */
const EVERYWHERE =
  'cloudwatch:DescribeAlarms cloudtrail:DescribeTrails codedeploy:ListDeploymentConfigs codedeploy:StopDeployment ec2:DescribeNetworkInterfaces ec2:DescribeSecurityGroups ec2:DescribeSubnets ec2:DescribeVpcs kms:ListAliases logs:DescribeIndexPolicies logs:DescribeLogGroups logs:DescribeResourcePolicies secretsmanager:GetRandomPassword';

/** The calls for the resources of a stack that the printed policy refuses. */
function refusedFor(resources: readonly Deployed[], own = policies, context = TAGGED) {
  return resources.flatMap((one) => {
    const calls = CALLS[one.type] ?? `no calls are known for ${one.type}`;
    const [service = '', ...actions] = calls.split(/:? /);
    const arn = RESOURCES[one.type]?.(one) ?? one.arn ?? '';
    return actions.map((action) => `${service}:${action}`).filter((action) => !may(action, arn, context, own));
  });
}

// CloudFormation cuts the stack's name in the names that it makes.
it('a long name of an environment leaves CloudFormation all that it may do for a short one', () => {
  const long = deployStack('abcdefghijklmnopqrst', form);
  const context = tags('ResourceTag', { ...TAGS, environment: 'abcdefghijklmnopqrst' });
  const role = long.arnOf('CredentialHealthProbe', 'AWS::IAM::Role');
  expect(role).toMatch(/:role\/TokenBroker-abcdefghijklm-CredentialHealthProbe/);
  expect(refusedFor(long.resources, policiesFor(form, 'abcdefghijklmnopqrst', long), context)).toEqual([]);
});

it('CloudFormation may make, read back, change and remove every resource of the template', () => {
  expect(refusedFor(stack.resources)).toEqual([]);
  expect(stack.resources.filter(({ type }) => CALLS[type] === undefined)).toEqual([]);
  expect(may('logs:PutSubscriptionFilter', form.logDestinationArn)).toBe(true);
  expect(EVERYWHERE.split(' ').filter((action) => !may(action, '*'))).toEqual([]);
});

it('the roles of the stack are handed to the services that run as them, and to no other', () => {
  const roles = stack.resources.filter(({ type }) => type === 'AWS::IAM::Role').flatMap(({ arn = [] }) => arn);
  const pass = (service: string) =>
    roles.filter((role) => may('iam:PassRole', role, { 'iam:PassedToService': `${service}.amazonaws.com` }));
  for (const service of ['cloudtrail', 'codedeploy', 'lambda', 'scheduler']) expect(pass(service)).toEqual(roles);
  for (const service of ['ec2', 'ecs-tasks', 'cloudformation']) expect(pass(service)).toEqual([]);
});

const TAGS = { application: 'token-broker', environment: 'test' };
const tags = (of: string, values: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(values).map(([tag, value]) => [`aws:${of}/${tag}`, value]));
const TAGGED: Context = tags('ResourceTag', TAGS);
const through = (service: string) => ({ 'kms:ViaService': `${service}.eu-west-1.amazonaws.com` });
const sealing = { 'kms:EncryptionContext:SecretARN': stack.arnOf('PairTable', 'AWS::SecretsManager::Secret') };
const FOR_AWS = { 'kms:GrantIsForAWSResource': 'true' };
const requested = tags('RequestTag', TAGS);
const OTHERS = { application: 'token-broker', environment: 'prod' };
const OF_OTHERS: Context = tags('ResourceTag', OTHERS);

const FINISH = 'DescribeKey EnableKeyRotation GetKeyPolicy GetKeyRotationStatus ListResourceTags';
const CHANGE = 'PutKeyPolicy ScheduleKeyDeletion UpdateKeyDescription';

it.each<[verdict: 'may' | 'may not', what: string, actions: string, resource: string, context: Context]>([
  // CreateKey with tags asks for both, before there is a key or a tag.
  ['may', 'make a key with its tags', 'CreateKey TagResource', '*', { ...requested, 'aws:RequestTag/team': 'x' }],
  ['may not', 'make a key without tags', 'CreateKey TagResource', '*', {}],
  ['may not', 'make a key of another environment', 'CreateKey TagResource', '*', tags('RequestTag', OTHERS)],
  // As it does in the same minute.
  ['may', 'finish the fresh key before its tags count', FINISH, KEY, {}],
  ['may', 'store the sealing key', 'GenerateDataKey Decrypt', KEY, { ...through('secretsmanager'), ...sealing }],
  ['may', 'make the table', 'CreateGrant DescribeKey Encrypt Decrypt', KEY, { ...through('dynamodb'), ...FOR_AWS }],
  ['may not', 'lend the key to a person', 'CreateGrant', KEY, through('dynamodb')],
  ['may not', 'use the key by hand', 'GenerateDataKey Decrypt CreateGrant', KEY, {}],
  ['may not', 'take a key of another environment', 'TagResource', KEY, { ...requested, ...OF_OTHERS }],
  ['may not', 'change a key of another environment', CHANGE, KEY, OF_OTHERS],
  ['may not', 'change a key without tags', CHANGE, KEY, {}],
])('CloudFormation %s %s', (verdict, _, actions, resource, context) => {
  const allowed = actions.split(' ').filter((action) => may(`kms:${action}`, resource, context));
  expect(allowed).toEqual(verdict === 'may' ? actions.split(' ') : []);
});

/**
 * CreateKey refuses a key whose maker may not change its policy afterwards, and no tag counts yet. A statement for keys
 * without the tag would also reach those of others.
 *
 * @see aws-solutions/innovation-sandbox-on-aws#31, aws-solutions/innovation-sandbox-on-aws#117
 */
it('the first deployment passes the lock-out check of KMS, and reaches no key of others for it', () => {
  const [key] = stack.resources.filter(({ type }) => type === 'AWS::KMS::Key');
  const { BypassPolicyLockoutSafetyCheck, KeyPolicy } = key?.properties ?? {};
  expect([BypassPolicyLockoutSafetyCheck, may('kms:PutKeyPolicy', KEY)]).toEqual([true, false]);
  // The account keeps the key all the same.
  const ofAccount = KeyPolicy.Statement.find(({ Sid }: { Sid: string }) => Sid === 'AdministerByIam');
  expect(ofAccount).toMatchObject({ Effect: 'Allow', Principal: { AWS: 'arn:aws:iam::111111111111:root' } });
  expect(ofAccount.Action).toContain('kms:PutKeyPolicy');
});

/** @see aws/aws-cdk#31885 */
it('CloudFormation reads no code from a bucket of the right name that a stranger has made', () => {
  const asset = 'arn:aws:s3:::cdk-hnb659fds-assets-111111111111-eu-west-1/0123.zip';
  const owned = ['111111111111', '999999999999'].map((account) => ({ 'aws:ResourceAccount': account }));
  expect(owned.map((context) => may('s3:GetObject', asset, context))).toEqual([true, false]);
});

it('with a key of its own it neither makes nor changes one', () => {
  const keyArn = 'arn:aws:kms:eu-west-1:111111111111:key/01234567-89ab-cdef-0123-456789abcdef';
  const own = policiesFor({ ...form, keyArn });
  for (const action of ['CreateKey', 'TagResource', 'PutKeyPolicy', 'ScheduleKeyDeletion', 'EnableKeyRotation']) {
    const context = { ...TAGGED, ...requested };
    expect([keyArn, '*'].filter((resource) => may(`kms:${action}`, resource, context, own))).toEqual([]);
  }
});

function functionOf({ properties: { FunctionName } }: Deployed): string {
  return `${FunctionName}`.startsWith('arn:') ? `${FunctionName}` : at('lambda', `function:${FunctionName}`);
}

function at(service: string, resource: string): string {
  return `arn:aws:${service}:eu-west-1:111111111111:${resource}`;
}
