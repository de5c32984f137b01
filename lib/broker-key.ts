import { ArnFormat, RemovalPolicy, Stack } from 'aws-cdk-lib';
import { AccountRootPrincipal, PolicyDocument, PolicyStatement, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { type IKey, Key } from 'aws-cdk-lib/aws-kms';
import type { Construct } from 'constructs';
import { topicName } from './names.ts';

interface BrokerKeyProps {
  readonly environment: string;
  /** The key of an earlier stack of this environment, which it left behind. */
  readonly keyArn?: string | undefined;
}

/**
 * The one key of an environment. It encrypts the clients' secrets, which outlive the stack, so it does as well. Its policy
 * names no resource that a stack makes anew: a key that is given back fits as it is.
 */
export function createBrokerKey(scope: Construct, id: string, { environment, keyArn }: BrokerKeyProps): IKey {
  if (keyArn !== undefined) return Key.fromKeyArn(scope, id, keyArn);
  return new Key(scope, id, {
    description: `Encrypts the client secrets token-broker/${environment}/* and what the token broker keeps`,
    enableKeyRotation: true,
    removalPolicy: RemovalPolicy.RETAIN,
    policy: new PolicyDocument({ statements: keyPolicy(Stack.of(scope), environment) }),
  });
}

/** In a key's own policy `*` means this key. */
const THIS_KEY = { resources: ['*'] };

function keyPolicy(stack: Stack, environment: string): PolicyStatement[] {
  const { account, region } = stack;
  const principals = [new AccountRootPrincipal()];
  const topic = stack.formatArn({ service: 'sns', resource: topicName(environment) });
  const logGroups = stack.formatArn({
    service: 'logs',
    resource: 'log-group',
    resourceName: `${stack.stackName}-*`,
    arnFormat: ArnFormat.COLON_RESOURCE_NAME,
  });
  return [
    new PolicyStatement({ sid: 'AdministerByIam', principals, actions: ADMINISTRATION, ...THIS_KEY }),
    // Nobody decrypts by hand, whatever IAM allows: only through the service that holds what is encrypted.
    new PolicyStatement({
      sid: 'UseByIamThroughServices',
      principals,
      actions: [...ENVELOPE_USE],
      ...THIS_KEY,
      conditions: {
        StringEquals: {
          'kms:CallerAccount': account,
          'kms:ViaService': ['dynamodb', 'secretsmanager', 'sns', 'sqs'].map((name) => viaService(name, region)),
        },
      },
    }),
    new PolicyStatement({
      sid: 'LendToTheTable',
      principals,
      actions: ['kms:CreateGrant'],
      ...THIS_KEY,
      conditions: {
        StringEquals: { 'kms:CallerAccount': account, 'kms:ViaService': viaService('dynamodb', region) },
      },
    }),
    // An alarm publishes as CloudWatch, which no policy of this account's roles covers.
    new PolicyStatement({
      sid: 'UseForAlarms',
      principals: [new ServicePrincipal('cloudwatch.amazonaws.com')],
      actions: [...DATA_KEY_USE],
      ...THIS_KEY,
      conditions: { StringEquals: { 'aws:SourceAccount': account, 'kms:EncryptionContext:aws:sns:topicArn': topic } },
    }),
    new PolicyStatement({
      sid: 'UseForLogs',
      principals: [new ServicePrincipal(`logs.${region}.amazonaws.com${region.startsWith('cn-') ? '.cn' : ''}`)],
      actions: [...ENVELOPE_USE],
      ...THIS_KEY,
      conditions: { ArnLike: { 'kms:EncryptionContext:aws:logs:arn': logGroups } },
    }),
  ];
}

/** Who calls KMS for somebody, as the condition `kms:ViaService` knows it. */
export function viaService(service: string, region: string): string {
  return `${service}.${region}.amazonaws.com`;
}

const DATA_KEY_USE = ['kms:Decrypt', 'kms:GenerateDataKey'];

const ENVELOPE_USE = [
  ...DATA_KEY_USE,
  'kms:DescribeKey',
  'kms:Encrypt',
  'kms:GenerateDataKeyWithoutPlaintext',
  'kms:ReEncryptFrom',
  'kms:ReEncryptTo',
];

const ADMINISTRATION = [
  'kms:CancelKeyDeletion',
  'kms:CreateAlias',
  'kms:DeleteAlias',
  'kms:DescribeKey',
  'kms:DisableKey',
  'kms:DisableKeyRotation',
  'kms:EnableKey',
  'kms:EnableKeyRotation',
  'kms:GetKeyPolicy',
  'kms:GetKeyRotationStatus',
  'kms:ListGrants',
  'kms:ListKeyPolicies',
  'kms:ListKeyRotations',
  'kms:ListResourceTags',
  'kms:PutKeyPolicy',
  'kms:RevokeGrant',
  'kms:RotateKeyOnDemand',
  'kms:ScheduleKeyDeletion',
  'kms:TagResource',
  'kms:UntagResource',
  'kms:UpdateAlias',
  'kms:UpdateKeyDescription',
];
