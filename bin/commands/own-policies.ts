import { sealingKeyName } from '../../functions/contract.ts';
import type { Environment } from '../../lib/settings/environment.ts';
import {
  ALIAS,
  functionName,
  releaseCheckName,
  stackName,
  tableName,
  tokenRoleName,
  topicName,
} from '../../lib/settings/names.ts';

/** What those need in the account of an environment who deploy it, operate it, or stop it in an emergency. */
export const OWN_POLICIES = {
  deploy: 'of who deploys: the roles of the CDK bootstrap, the outputs, one run of health',
  execution: 'of the role with which CloudFormation makes the stack',
  operator: 'of who looks after the clients; it reads no credential',
  emergency: 'of who may stop the broker or a client in an emergency',
} as const;

/** The identity policy of one of them, as narrow as the names of an environment allow. */
export function ownPolicy(kind: keyof typeof OWN_POLICIES, environment: Environment) {
  return { Version: '2012-10-17', Statement: STATEMENTS[kind](environment) };
}

const STATEMENTS = { deploy, execution, operator, emergency } satisfies Record<
  keyof typeof OWN_POLICIES,
  (environment: Environment) => readonly Statement[]
>;

interface Statement {
  readonly Sid: string;
  readonly Effect: 'Allow';
  readonly Action: readonly string[];
  readonly Resource: string | readonly string[];
  readonly Condition?: object;
}

function deploy(environment: Environment): readonly Statement[] {
  const { account, region } = environment;
  const roles = ['deploy', 'file-publishing', 'lookup'].map((role) =>
    arn(environment, 'iam', `role/cdk-*-${role}-role-${account}-${region}`, ''),
  );
  return [
    allow('UseTheBootstrap', ['sts:AssumeRole'], roles),
    readOutputs(environment),
    allow('UndoAFailedCreation', ['cloudformation:UpdateTerminationProtection'], stackArn(environment)),
    // For `doctor`: it asks without a client, so no access rule is needed.
    allow('CallTheFunctionUrl', ['lambda:InvokeFunctionUrl'], aliasArn(environment), {
      StringEquals: { 'lambda:FunctionUrlAuthType': 'AWS_IAM' },
    }),
    allow('InvokeThroughTheFunctionUrl', ['lambda:InvokeFunction'], aliasArn(environment), {
      Bool: { 'lambda:InvokedViaFunctionUrl': 'true' },
    }),
    allow('RunHealthOnce', ['lambda:InvokeFunction'], healthFunctionArn(environment)),
  ];
}

/** Each service whose resources the template has: what CloudFormation makes, changes, reads back and removes of them. */
function execution(environment: Environment): readonly Statement[] {
  const { name, account, region } = environment;
  const own = `${stackName(name)}-*`;
  const roles = [own, tokenRoleName(name)].map((role) => arn(environment, 'iam', `role/${role}`, ''));
  const at = (service: string, ...resources: readonly string[]) =>
    resources.map((one) => arn(environment, service, one));
  return [
    allow('ReadTheAssets', ['s3:GetObject'], `arn:${partition(environment)}:s3:::cdk-*-assets-${account}-${region}/*`),
    allow('ReadTheBootstrap', ['ssm:GetParameters'], at('ssm', 'parameter/cdk-bootstrap/*')),
    allow('Functions', lifeOf('lambda'), [
      ...functionArns(environment),
      healthFunctionArn(environment),
      arn(environment, 'lambda', `function:${releaseCheckName(name)}`),
    ]),
    allow('Roles', lifeOf('iam'), roles),
    allow('PassRoles', ['iam:PassRole'], roles, {
      StringEquals: {
        'iam:PassedToService': ['codedeploy.amazonaws.com', 'lambda.amazonaws.com', 'scheduler.amazonaws.com'],
      },
    }),
    allow('Table', lifeOf('dynamodb'), tableArn(environment)),
    allow('SealingKey', lifeOf('secretsmanager'), at('secretsmanager', `secret:${sealingKeyName(name)}-*`)),
    allow('MakeUpTheSealingKey', ['secretsmanager:GetRandomPassword'], '*'),
    allow('MakeTheKey', ['kms:CreateKey'], '*', { StringEquals: requestTags(name) }),
    allow('Key', lifeOf('kms'), ...keyOf(environment)),
    allow(
      'UseTheKeyForThem',
      [...KEY_USE, 'kms:CreateGrant', 'kms:DescribeKey', 'kms:Encrypt'],
      ...keyOf(environment, ['dynamodb', 'secretsmanager']),
    ),
    allow('Topic', lifeOf('sns'), at('sns', topicName(name), `${topicName(name)}:*`)),
    allow('Queue', lifeOf('sqs'), at('sqs', own)),
    allow('Logs', lifeOf('logs'), at('logs', `log-group:${own}`)),
    allow('Alarms', lifeOf('cloudwatch'), [
      ...at('cloudwatch', `alarm:token-broker-*-${name}`),
      arn(environment, 'cloudwatch', `dashboard/${functionName(name)}-${region}`, ''),
    ]),
    allow('Rule', lifeOf('events'), at('events', `rule/${own}`)),
    allow('Schedule', lifeOf('scheduler'), at('scheduler', `schedule/default/token-broker-health-${name}`)),
    allow('Canary', lifeOf('codedeploy'), [
      ...at('codedeploy', `application:${functionName(name)}`, `deploymentgroup:${functionName(name)}/*`),
      ...at('codedeploy', 'deploymentconfig:*'),
    ]),
    // AWS knows no narrower resource for these lists.
    allow('Look', ['cloudwatch:DescribeAlarms', 'codedeploy:ListDeploymentConfigs', 'logs:DescribeLogGroups'], '*'),
    ...(environment.vpc === undefined ? [] : [allow('LookAtTheVpc', lifeOf('ec2'), '*')]),
  ];
}

function operator(environment: Environment): readonly Statement[] {
  const { name } = environment;
  return [
    readOutputs(environment),
    allow('SeeTheSubscribers', ['sns:GetTopicAttributes'], arn(environment, 'sns', topicName(name))),
    allow('ListTheSecrets', ['secretsmanager:ListSecrets'], '*'),
    allow(
      'LookAfterTheSecrets',
      actionsOf(
        'secretsmanager',
        'CreateSecret DeleteResourcePolicy DeleteSecret DescribeSecret GetResourcePolicy ListSecretVersionIds PutResourcePolicy PutSecretValue RestoreSecret TagResource UntagResource UpdateSecretVersionStage',
      ),
      arn(environment, 'secretsmanager', `secret:token-broker/${name}/*`),
    ),
    allow(
      'RotateTheSealingKey',
      actionsOf('secretsmanager', 'ListSecretVersionIds PutSecretValue UpdateSecretVersionStage'),
      arn(environment, 'secretsmanager', `secret:${sealingKeyName(name)}-*`),
    ),
    allow('ReadTheAuditLines', ['logs:FilterLogEvents'], arn(environment, 'logs', `log-group:${stackName(name)}-*`)),
    allow('FindTheLog', ['lambda:GetFunctionConfiguration'], functionArns(environment)),
    allow('EncryptThem', KEY_USE, ...keyOf(environment, ['secretsmanager'])),
    ...changeTheTable(environment),
  ];
}

function emergency(environment: Environment): readonly Statement[] {
  const { name } = environment;
  return [
    readOutputs(environment),
    allow(
      'StopTheBroker',
      actionsOf(
        'lambda',
        'DeleteFunctionConcurrency DeleteProvisionedConcurrencyConfig GetFunctionConcurrency PutFunctionConcurrency PutProvisionedConcurrencyConfig',
      ),
      functionArns(environment),
    ),
    allow(
      'PutAnEarlierVersionBack',
      actionsOf('lambda', 'GetAlias ListVersionsByFunction UpdateAlias'),
      functionArns(environment),
    ),
    allow(
      'StopADeployment',
      actionsOf('codedeploy', 'GetDeployment ListDeployments StopDeployment'),
      arn(environment, 'codedeploy', `deploymentgroup:${functionName(name)}/*`),
    ),
    allow(
      'DenyASecret',
      actionsOf('secretsmanager', 'DeleteResourcePolicy DescribeSecret GetResourcePolicy PutResourcePolicy'),
      arn(environment, 'secretsmanager', `secret:token-broker/${name}/*`),
    ),
    ...changeTheTable(environment),
  ];
}

function readOutputs(environment: Environment): Statement {
  return allow('ReadTheOutputs', ['cloudformation:DescribeStacks'], stackArn(environment));
}

/** The flags of clients and pairs; its tokens are sealed. */
function changeTheTable(environment: Environment): readonly Statement[] {
  return [
    allow('ChangeTheTable', ['dynamodb:GetItem', 'dynamodb:UpdateItem'], tableArn(environment)),
    allow('UseItsKey', [...KEY_USE, 'kms:DescribeKey', 'kms:Encrypt'], ...keyOf(environment, ['dynamodb'])),
  ];
}

function allow(
  Sid: string,
  actions: readonly string[],
  Resource: Statement['Resource'],
  Condition?: object,
): Statement {
  return { Sid, Effect: 'Allow', Action: [...actions], Resource, ...(Condition && { Condition }) };
}

/** Of a resource in the account of an environment. */
export function arn({ account, region }: ArnPlace, service: string, resource: string, place: string = region): string {
  return `arn:${partition({ region })}:${service}:${place}:${account}:${resource}`;
}

type ArnPlace = Pick<Environment, 'account' | 'region'>;

/** The partition of the region. */
export function partition({ region }: Pick<Environment, 'region'>): string {
  return region.startsWith('cn-') ? 'aws-cn' : region.startsWith('us-gov-') ? 'aws-us-gov' : 'aws';
}

function stackArn(environment: Environment): string {
  return arn(environment, 'cloudformation', `stack/${stackName(environment.name)}/*`);
}

function tableArn(environment: Environment): string {
  return arn(environment, 'dynamodb', `table/${tableName(environment.name)}`);
}

/** The token function, with its alias and versions. */
function functionArns(environment: Environment): readonly string[] {
  const { name } = environment;
  return [functionName(name), `${functionName(name)}:*`].map((one) => arn(environment, 'lambda', `function:${one}`));
}

function aliasArn(environment: Environment): string {
  return arn(environment, 'lambda', `function:${functionName(environment.name)}:${ALIAS}`);
}

function healthFunctionArn(environment: Environment): string {
  return arn(environment, 'lambda', `function:token-broker-health-${environment.name}`);
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

function requestTags(name: string) {
  return { 'aws:RequestTag/application': 'token-broker', 'aws:RequestTag/environment': name };
}

const KEY_USE = ['kms:Decrypt', 'kms:GenerateDataKey'];

function actionsOf(service: string, names: string): readonly string[] {
  return names.split(' ').map((name) => `${service}:${name}`);
}

function lifeOf(service: keyof typeof LIFE): readonly string[] {
  return actionsOf(service, LIFE[service]);
}

/** What CloudFormation does with a resource in its life; no action reads what is kept in it, and none calls a function. */
const LIFE = {
  lambda:
    'AddPermission Create* Delete* Get* List* PublishVersion Put* RemovePermission TagResource UntagResource Update*',
  iam: 'CreateRole DeleteRole DeleteRolePolicy GetRole GetRolePolicy List* PutRolePermissionsBoundary PutRolePolicy TagRole UntagRole Update*',
  dynamodb:
    'CreateTable DeleteTable Describe* GetResourcePolicy ListTagsOfResource TagResource UntagResource UpdateTable UpdateTimeToLive',
  secretsmanager:
    'CreateSecret DeleteResourcePolicy DeleteSecret DescribeSecret GetResourcePolicy PutResourcePolicy TagResource UntagResource UpdateSecret ValidateResourcePolicy',
  kms: 'DescribeKey EnableKeyRotation GetKeyPolicy GetKeyRotationStatus ListResourceTags PutKeyPolicy ScheduleKeyDeletion TagResource UntagResource UpdateKeyDescription',
  sns: 'CreateTopic DeleteTopic Get* List* SetTopicAttributes Subscribe TagResource Unsubscribe UntagResource',
  sqs: 'CreateQueue DeleteQueue GetQueueAttributes GetQueueUrl ListQueueTags SetQueueAttributes TagQueue UntagQueue',
  logs: 'AssociateKmsKey CreateLogGroup DeleteLogGroup ListTagsForResource PutRetentionPolicy TagResource UntagResource',
  cloudwatch:
    'DeleteAlarms DeleteDashboards GetDashboard ListTagsForResource PutDashboard PutMetricAlarm TagResource UntagResource',
  events:
    'DeleteRule DescribeRule ListTagsForResource ListTargetsByRule PutRule PutTargets RemoveTargets TagResource UntagResource',
  scheduler: 'CreateSchedule DeleteSchedule GetSchedule UpdateSchedule',
  codedeploy:
    'Create* Delete* Get* ListTagsForResource RegisterApplicationRevision StopDeployment TagResource UntagResource Update*',
  ec2: 'DescribeSecurityGroups DescribeSubnets DescribeVpcs',
} as const;
