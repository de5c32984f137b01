import { ArnFormat, Duration, RemovalPolicy, Stack } from 'aws-cdk-lib';
import { CfnTrail } from 'aws-cdk-lib/aws-cloudtrail';
import { type IRole, PolicyStatement, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import { FilterPattern, LogGroup, MetricFilter } from 'aws-cdk-lib/aws-logs';
import { BlockPublicAccess, Bucket, BucketEncryption } from 'aws-cdk-lib/aws-s3';
import { Construct } from 'constructs';
import { sealingKeyName } from '../../functions/contract.ts';
import type { Environment } from '../settings/environment.ts';
import { functionName, healthFunctionName, releaseCheckName } from '../settings/names.ts';
import { trailMetric } from './metrics.ts';
import { createTrailAlarms } from './monitoring.ts';
import type { OperatorTopic } from './operator-topic.ts';

interface TrailProps {
  readonly environment: Environment;
  readonly key: IKey;
  readonly operators: OperatorTopic;
}

/**
 * Records who invokes the token function, and every change that is made in the account, and tells the operators of what
 * neither the URL nor a deployment has done. The records outlive the stack.
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
    // Its name begins as the stack's, so the key lets it in.
    const log = new LogGroup(this, 'Log', { encryptionKey: key, retention, removalPolicy: RemovalPolicy.RETAIN });
    const role = this.#logsRole(from, log.logGroupArn);
    const trail = new CfnTrail(this, 'Trail', {
      trailName,
      isLogging: true,
      isMultiRegionTrail: false,
      enableLogFileValidation: true,
      s3BucketName: bucket.bucketName,
      cloudWatchLogsLogGroupArn: log.logGroupArn,
      cloudWatchLogsRoleArn: role.roleArn,
      advancedEventSelectors: eventSelectors(stack.formatArn(functionArn(trailName))),
    });
    // CloudTrail tries both at once.
    trail.node.addDependency(bucket, role);

    for (const [metricName, pattern] of Object.entries(trailPatterns(environment))) {
      const { namespace } = trailMetric(environment.name, metricName);
      new MetricFilter(this, metricName, {
        logGroup: log,
        filterPattern: FilterPattern.literal(pattern),
        metricNamespace: namespace,
        metricName,
      });
    }
    createTrailAlarms(new Construct(this, 'Alarms'), environment, operators);
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
      removalPolicy: RemovalPolicy.RETAIN,
    });
    const principals = [new ServicePrincipal('cloudtrail.amazonaws.com')];
    bucket.addToResourcePolicy(
      new PolicyStatement({
        principals,
        actions: ['s3:GetBucketAcl'],
        resources: [bucket.bucketArn],
        conditions: { StringEquals: from },
      }),
    );
    bucket.addToResourcePolicy(
      new PolicyStatement({
        principals,
        actions: ['s3:PutObject'],
        resources: [bucket.arnForObjects(`AWSLogs/${Stack.of(this).account}/*`)],
        conditions: { StringEquals: { ...from, 's3:x-amz-acl': 'bucket-owner-full-control' } },
      }),
    );
    return bucket;
  }

  #logsRole(from: Readonly<Record<string, string>>, logGroupArn: string): IRole {
    const role = new Role(this, 'LogsRole', {
      description: 'Lets CloudTrail write its records to the log that the alarms read',
      assumedBy: new ServicePrincipal('cloudtrail.amazonaws.com', { conditions: { StringEquals: from } }),
    });
    role.addToPolicy(
      new PolicyStatement({ actions: ['logs:CreateLogStream', 'logs:PutLogEvents'], resources: [logGroupArn] }),
    );
    return role;
  }
}

function functionArn(name: string) {
  return { service: 'lambda', resource: 'function', resourceName: name, arnFormat: ArnFormat.COLON_RESOURCE_NAME };
}

/** CloudTrail cannot narrow management events to a resource, so every change in the account is recorded. */
function eventSelectors(arn: string): CfnTrail.AdvancedEventSelectorProperty[] {
  return [
    {
      name: 'Invocations of the token function',
      fieldSelectors: [
        { field: 'eventCategory', equalTo: ['Data'] },
        { field: 'resources.type', equalTo: ['AWS::Lambda::Function'] },
        // Either: a direct invocation may name a version or the alias.
        { field: 'resources.ARN', equalTo: [arn], startsWith: [`${arn}:`] },
      ],
    },
    {
      name: 'Changes in the account',
      fieldSelectors: [
        { field: 'eventCategory', equalTo: ['Management'] },
        { field: 'readOnly', equalTo: ['false'] },
      ],
    },
  ];
}

/**
 * What rings, by metric, in the words of CloudWatch Logs: for the records of CloudTrail, where what a service of AWS does
 * for a deployment has that service's name in place of an address.
 *
 * @see https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/FilterAndPatternSyntaxForMetricFilters.html
 */
function trailPatterns({ name, trail }: Pick<Environment, 'name' | 'trail'>): Readonly<Record<string, string>> {
  const writers = trail === 'off' ? [] : trail.sealingKeyWriters;
  const issuer = '$.userIdentity.sessionContext.sessionIssuer.arn';
  const noWriter = either([`${issuer} NOT EXISTS`, both(writers.map((role) => `${issuer} != "${role}"`))]);
  const named = (field: string, names: readonly string[]) =>
    either(names.flatMap((one) => [one, `${one}:*`]).map((pattern) => `$.${field} = "*${pattern}"`));
  const change = (service: string) => [`$.eventSource = "${service}.amazonaws.com"`, '$.readOnly IS FALSE'];
  const notBy = (...services: readonly string[]) =>
    services.map((service) => `$.sourceIPAddress != "${service}.amazonaws.com"`);
  const functions = [functionName(name), healthFunctionName(name), releaseCheckName(name)];
  return {
    DirectInvocations: pattern([
      '$.eventCategory = "Data"',
      '$.eventSource = "lambda.amazonaws.com"',
      '$.eventName != "InvokeFunctionUrl"',
    ]),
    FunctionChanges: pattern([
      ...change('lambda'),
      '$.eventCategory = "Management"',
      named('requestParameters.functionName', functions),
      ...notBy('cloudformation', 'codedeploy'),
    ]),
    SealingKeyWrites: pattern([
      ...change('secretsmanager'),
      `$.requestParameters.secretId = "*${sealingKeyName(name)}*"`,
      ...notBy('cloudformation'),
      ...(writers.length > 0 ? [noWriter] : []),
    ]),
    TrailChanges: pattern([
      ...change('cloudtrail'),
      either([
        named('requestParameters.name', [functionName(name)]),
        named('requestParameters.trailName', [functionName(name)]),
      ]),
      ...notBy('cloudformation'),
    ]),
  };
}

function pattern(conditions: readonly string[]): string {
  return `{ ${both(conditions)} }`;
}

function both(conditions: readonly string[]): string {
  return joined(conditions, '&&');
}

function either(conditions: readonly string[]): string {
  return joined(conditions, '||');
}

function joined(conditions: readonly string[], operator: '&&' | '||'): string {
  return conditions.map((condition) => `(${condition})`).join(` ${operator} `);
}
