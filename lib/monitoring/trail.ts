import { Duration, RemovalPolicy, Stack } from 'aws-cdk-lib';
import { CfnTrail } from 'aws-cdk-lib/aws-cloudtrail';
import { Metric } from 'aws-cdk-lib/aws-cloudwatch';
import { PolicyStatement, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import { FilterPattern, LogGroup, MetricFilter } from 'aws-cdk-lib/aws-logs';
import { BlockPublicAccess, Bucket, BucketEncryption } from 'aws-cdk-lib/aws-s3';
import { Construct } from 'constructs';
import { sealingKeyName, secretPrefix } from '../../functions/vocabulary.ts';
import { allow } from '../data/allow.ts';
import { functionName, healthFunctionName, releaseCheckName, tokenRoleName } from '../settings/names.ts';
import { partitionOf } from '../settings/regions.ts';
import type { Environment } from '../settings/settings.ts';
import { TRAIL_ALARMS } from './alarms.ts';
import { createAlarms } from './monitoring.ts';
import type { OperatorTopic } from './operator-topic.ts';

interface TrailProps {
  readonly environment: Environment;
  readonly key: IKey;
  readonly operators: OperatorTopic;
}

/**
 * Records invocations of the token function, and every change and read in this region of the account. Notifies the
 * operators of actions that neither the URL nor a deployment explains. The records outlive the stack.
 */
export class Trail extends Construct {
  constructor(scope: Construct, id: string, { environment, key, operators }: TrailProps) {
    super(scope, id);
    const stack = Stack.of(this);
    const trailName = functionName(environment.name);
    const from = {
      'aws:SourceArn': stack.formatArn({ service: 'cloudtrail', resource: 'trail', resourceName: trailName }),
      'aws:SourceAccount': stack.account,
    };
    const retention = environment.logRetentionDays;
    const bucket = this.#bucket(from, retention);
    // The key's policy allows log groups with the stack's prefix. A failed creation deletes the log, not the bucket.
    const removalPolicy = RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE;
    const log = new LogGroup(this, 'Log', { encryptionKey: key, retention, removalPolicy });
    const role = new Role(this, 'LogsRole', {
      description: 'Lets CloudTrail write its records to the log that the alarms read',
      assumedBy: new ServicePrincipal('cloudtrail.amazonaws.com', { conditions: { StringEquals: from } }),
    });
    allow(role, ['logs:CreateLogStream', 'logs:PutLogEvents'], log.logGroupArn);
    const trail = new CfnTrail(this, 'Trail', {
      trailName,
      isLogging: true,
      isMultiRegionTrail: false,
      enableLogFileValidation: true,
      s3BucketName: bucket.bucketName,
      cloudWatchLogsLogGroupArn: log.logGroupArn,
      cloudWatchLogsRoleArn: role.roleArn,
      advancedEventSelectors: eventSelectors(stack.formatArn({ service: 'lambda', resource: `function:${trailName}` })),
    });
    // CloudTrail checks at once that it may write to both.
    trail.node.addDependency(bucket, role);

    const metricNamespace = `TokenBrokerTrail/${environment.name}`;
    for (const [metricName, pattern] of Object.entries(trailPatterns(environment, key.keyId))) {
      const filterPattern = FilterPattern.literal(pattern);
      new MetricFilter(this, metricName, { logGroup: log, filterPattern, metricNamespace, metricName });
    }
    // A metric filter takes dimensions from records only, so the namespace names the environment.
    const recordsOf = (metricName: string) => new Metric({ namespace: metricNamespace, metricName, statistic: 'Sum' });
    const alarms = createAlarms(new Construct(this, 'Alarms'), environment, TRAIL_ALARMS, recordsOf);
    for (const alarm of alarms) operators.notifyOf(alarm);
  }

  /** @see https://docs.aws.amazon.com/awscloudtrail/latest/userguide/create-s3-bucket-policy-for-cloudtrail.html */
  #bucket(from: Readonly<Record<string, string>>, retentionDays: number): Bucket {
    const bucket = new Bucket(this, 'Bucket', {
      encryption: BucketEncryption.S3_MANAGED,
      blockPublicAccess: BlockPublicAccess.BLOCK_ALL,
      enforceSSL: true,
      versioned: true,
      lifecycleRules: [
        {
          expiration: Duration.days(retentionDays),
          noncurrentVersionExpiration: Duration.days(retentionDays),
          abortIncompleteMultipartUploadAfter: Duration.days(1),
        },
      ],
      // CloudTrail writes to the bucket at once, and CloudFormation can only delete an empty bucket.
      removalPolicy: RemovalPolicy.RETAIN,
    });
    const allowTrail = (action: string, resource: string, conditions: Readonly<Record<string, string>> = {}) =>
      bucket.addToResourcePolicy(
        new PolicyStatement({
          principals: [new ServicePrincipal('cloudtrail.amazonaws.com')],
          actions: [action],
          resources: [resource],
          conditions: { StringEquals: { ...from, ...conditions } },
        }),
      );
    allowTrail('s3:GetBucketAcl', bucket.bucketArn);
    allowTrail('s3:PutObject', bucket.arnForObjects(`AWSLogs/${Stack.of(this).account}/*`), {
      's3:x-amz-acl': 'bucket-owner-full-control',
    });
    return bucket;
  }
}

/**
 * Selects every management event, because CloudTrail can filter neither these events by resource nor reads by service.
 * The events of IAM are in us-east-1.
 */
function eventSelectors(arn: string): CfnTrail.AdvancedEventSelectorProperty[] {
  return [
    {
      name: 'Invocations of the token function',
      fieldSelectors: [
        { field: 'eventCategory', equalTo: ['Data'] },
        { field: 'resources.type', equalTo: ['AWS::Lambda::Function'] },
        // Matches either form, because a direct invocation may name a version or the alias.
        { field: 'resources.ARN', equalTo: [arn], startsWith: [`${arn}:`] },
      ],
    },
    { name: 'Changes and reads in the account', fieldSelectors: [{ field: 'eventCategory', equalTo: ['Management'] }] },
  ];
}

/**
 * The filter pattern of each metric, for the records of CloudTrail. Actions of an AWS service during a deployment have
 * the name of the service in place of an address.
 *
 * @see https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/FilterAndPatternSyntaxForMetricFilters.html
 */
function trailPatterns(environment: Environment, keyId: string): Readonly<Record<string, string>> {
  const { name, account, region, trail } = environment;
  const { sealingKeyWriters = [], secretPolicyWriters = [] } = trail === 'off' ? {} : trail;
  const issuer = '$.userIdentity.sessionContext.sessionIssuer.arn';
  const byOthersThan = (roles: readonly string[]) =>
    roles.length === 0 ? [] : [any([`${issuer} NOT EXISTS`, all(roles.map((role) => `${issuer} != "${role}"`))])];
  const tokenRole = `arn:${partitionOf(region)}:iam::${account}:role/${tokenRoleName(name)}`;
  const named = (field: string, ...names: readonly string[]) =>
    any(names.flatMap((name) => [`$.${field} = "*${name}"`, `$.${field} = "*${name}:*"`]));
  const change = (service: string, conditions: readonly string[], ...deployers: readonly string[]) => [
    `$.eventSource = "${service}.amazonaws.com"`,
    '$.readOnly IS FALSE',
    ...conditions,
    ...['cloudformation', ...deployers].map((deployer) => `$.sourceIPAddress != "${deployer}.amazonaws.com"`),
  ];
  const names = [functionName, healthFunctionName, releaseCheckName].map((nameOf) => nameOf(name));
  const functions = named('requestParameters.functionName', ...names);
  const sealingKey = `$.requestParameters.secretId = "*${sealingKeyName(name)}*"`;
  // Deployments neither write these policies nor read these values.
  const fromSecrets = (...events: string[]) => ['$.eventSource = "secretsmanager.amazonaws.com"', eventIs(...events)];
  const ofSecrets = (...events: string[]) => [
    ...fromSecrets(...events),
    `$.requestParameters.secretId = "*${secretPrefix(name)}*"`,
  ];
  const ofKey = (...events: string[]) => [eventIs(...events), `$.requestParameters.keyId = "*${keyId}"`];
  const trailFields = ['requestParameters.name', 'requestParameters.trailName'];
  const patterns = {
    DirectInvocations: [
      '$.eventCategory = "Data"',
      '$.eventSource = "lambda.amazonaws.com"',
      '$.eventName != "InvokeFunctionUrl"',
    ],
    FunctionChanges: change('lambda', ['$.eventCategory = "Management"', functions], 'codedeploy'),
    SealingKeyWrites: [...change('secretsmanager', [sealingKey]), ...byOthersThan(sealingKeyWriters)],
    SecretPolicyWrites: [
      ...ofSecrets('PutResourcePolicy', 'DeleteResourcePolicy', 'ReplicateSecretToRegions'),
      ...byOthersThan(secretPolicyWriters),
    ],
    SecretReads: [...ofSecrets('GetSecretValue'), ...byOthersThan([tokenRole])],
    SealingKeyReads: [...fromSecrets('GetSecretValue'), sealingKey, ...byOthersThan([tokenRole, ...sealingKeyWriters])],
    // A filter cannot compare the members of a list, and no part of the stack reads in batches.
    BatchReads: fromSecrets('BatchGetSecretValue'),
    KeyChanges: change('kms', ofKey('PutKeyPolicy', 'DisableKey', 'ScheduleKeyDeletion')),
    KeyGrants: change('kms', ofKey('CreateGrant'), 'dynamodb'),
    TrailChanges: change('cloudtrail', [any(trailFields.map((field) => named(field, functionName(name))))]),
  };
  return Object.fromEntries(Object.entries(patterns).map(([metric, conditions]) => [metric, `{ ${all(conditions)} }`]));
}

function eventIs(...names: readonly string[]): string {
  return any(names.map((name) => `$.eventName = "${name}"`));
}

function all(conditions: readonly string[]): string {
  return conditions.map((condition) => `(${condition})`).join(' && ');
}

function any(conditions: readonly string[]): string {
  return conditions.map((condition) => `(${condition})`).join(' || ');
}
