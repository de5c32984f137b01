/** Who a resource is after deployment. */
export interface Identity {
  /** What `Ref` gives. */
  readonly ref: string;
  /** What `Fn::GetAtt` gives, by attribute. */
  readonly attributes: Readonly<Record<string, string>>;
  /** Absent for a resource that no policy can name. */
  readonly arn?: string;
}

interface Resource {
  readonly id: string;
  readonly stackName: string;
  readonly account: string;
  readonly region: string;
  readonly partition: string;
  /** A property with all that it refers to. */
  readonly property: (name: string) => unknown;
}

/**
 * The types of resources that a template here may have. Names that CloudFormation makes up begin as it begins them; what
 * follows is made up here too.
 *
 * @see https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-template-resource-type-ref.html
 */
export const identities: Readonly<Record<string, (resource: Resource) => Identity>> = {
  'AWS::CloudTrail::Trail': (resource) => named(resource, 'TrailName', 'cloudtrail', 'trail/'),
  'AWS::CloudWatch::Alarm': (resource) => named(resource, 'AlarmName', 'cloudwatch', 'alarm:'),
  'AWS::CloudWatch::Dashboard': (resource) => nameless(text(resource, 'DashboardName')),
  'AWS::CodeDeploy::Application': (resource) => named(resource, 'ApplicationName', 'codedeploy', 'application:'),
  'AWS::CodeDeploy::DeploymentConfig': (resource) =>
    named(resource, 'DeploymentConfigName', 'codedeploy', 'deploymentconfig:'),
  'AWS::CodeDeploy::DeploymentGroup': (resource) =>
    named(resource, 'DeploymentGroupName', 'codedeploy', `deploymentgroup:${resource.property('ApplicationName')}/`),
  'AWS::DynamoDB::Table': (resource) => named(resource, 'TableName', 'dynamodb', 'table/'),
  'AWS::EC2::SecurityGroup': (resource) => {
    const groupId = `sg-${madeUp(resource)}`;
    return { ref: groupId, attributes: { GroupId: groupId } };
  },
  'AWS::Events::Rule': (resource) => named(resource, 'Name', 'events', 'rule/'),
  'AWS::IAM::Policy': ({ id }) => nameless(id),
  'AWS::IAM::Role': (resource) => {
    const ref = text(resource, 'RoleName');
    const arn = `arn:${resource.partition}:iam::${resource.account}:role/${ref}`;
    return { ref, arn, attributes: { Arn: arn, RoleId: `AROA${madeUp(resource)}` } };
  },
  'AWS::KMS::Key': (resource) => named(resource, 'KeyId', 'kms', 'key/'),
  'AWS::Lambda::Alias': (resource) => qualified(resource, `${resource.property('Name')}`, 'AliasArn'),
  'AWS::Lambda::EventInvokeConfig': ({ id }) => nameless(id),
  'AWS::Lambda::Function': (resource) => named(resource, 'FunctionName', 'lambda', 'function:'),
  'AWS::Lambda::Permission': ({ id }) => nameless(id),
  'AWS::Lambda::Url': (resource) => ({
    ref: text(resource, 'TargetFunctionArn'),
    attributes: { FunctionUrl: `https://${madeUp(resource)}.lambda-url.${resource.region}.on.aws/` },
  }),
  'AWS::Lambda::Version': (resource) => qualified(resource, '1', 'FunctionArn', { Version: '1' }),
  'AWS::Logs::LogGroup': (resource) => {
    const ref = text(resource, 'LogGroupName');
    // With an asterisk at its end: a log group's streams are named after it.
    const arn = arnOf(resource, 'logs', `log-group:${ref}:*`);
    return { ref, arn, attributes: { Arn: arn } };
  },
  'AWS::Logs::MetricFilter': ({ id }) => nameless(id),
  'AWS::S3::Bucket': (resource) => {
    const ref = text(resource, 'BucketName').toLowerCase();
    const arn = `arn:${resource.partition}:s3:::${ref}`;
    return { ref, arn, attributes: { Arn: arn } };
  },
  'AWS::S3::BucketPolicy': ({ id }) => nameless(id),
  'AWS::SNS::Subscription': ({ id }) => nameless(id),
  'AWS::SNS::Topic': (resource) => {
    const TopicName = text(resource, 'TopicName');
    const arn = arnOf(resource, 'sns', TopicName);
    return { ref: arn, arn, attributes: { TopicName, TopicArn: arn } };
  },
  'AWS::SNS::TopicPolicy': ({ id }) => nameless(id),
  'AWS::SQS::Queue': (resource) => {
    const QueueName = text(resource, 'QueueName');
    const arn = arnOf(resource, 'sqs', QueueName);
    const url = `https://sqs.${resource.region}.amazonaws.com/${resource.account}/${QueueName}`;
    return { ref: url, arn, attributes: { Arn: arn, QueueName, QueueUrl: url } };
  },
  'AWS::SQS::QueuePolicy': ({ id }) => nameless(id),
  'AWS::Scheduler::Schedule': (resource) => named(resource, 'Name', 'scheduler', 'schedule/default/'),
  'AWS::SecretsManager::ResourcePolicy': ({ id }) => nameless(id),
  'AWS::SecretsManager::Secret': (resource) => {
    const arn = arnOf(resource, 'secretsmanager', `secret:${text(resource, 'Name')}-A1b2C3`);
    return { ref: arn, arn, attributes: { Id: arn } };
  },
};

/** For most: `Ref` is the name, and the ARN ends in it. */
function named(resource: Resource, property: string, service: string, kind: string): Identity {
  const ref = text(resource, property);
  const arn = arnOf(resource, service, `${kind}${ref}`);
  return { ref, arn, attributes: { Arn: arn } };
}

/** An alias or a version: its `Ref` is the ARN of the function with one more part. */
function qualified(resource: Resource, qualifier: string, arnAttribute: string, attributes = {}): Identity {
  const given = `${resource.property('FunctionName')}`;
  const functionArn = given.startsWith('arn:') ? given : arnOf(resource, 'lambda', `function:${given}`);
  const arn = `${functionArn}:${qualifier}`;
  return { ref: arn, arn, attributes: { ...attributes, [arnAttribute]: arn } };
}

function nameless(ref: string): Identity {
  return { ref, attributes: {} };
}

function arnOf({ partition, region, account }: Resource, service: string, rest: string): string {
  return `arn:${partition}:${service}:${region}:${account}:${rest}`;
}

/** The name that the template gives, or that CloudFormation gives in its place. */
function text(resource: Resource, property: string): string {
  const given = resource.property(property);
  return typeof given === 'string' ? given : `${resource.stackName}-${resource.id}-${madeUp(resource)}`;
}

function madeUp({ id }: Resource): string {
  return Buffer.from(id).toString('hex').slice(-12).toUpperCase();
}
