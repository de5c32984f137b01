/** A template as the CDK writes it, as far as it matters here. */
export interface TemplateText {
  readonly Resources: Readonly<Record<string, { readonly Type: string; readonly Properties?: unknown }>>;
}

/** A resource after deployment: nothing in its properties refers to anything any more. */
export interface Deployed {
  readonly id: string;
  readonly type: string;
  /** The value of `Ref`. */
  readonly ref: string;
  /** Absent for a resource that no policy can name. */
  readonly arn: string | undefined;
  // biome-ignore lint/suspicious/noExplicitAny: a resource has one of a hundred shapes, and each reader looks at one of them
  readonly properties: any;
}

interface Place {
  readonly stackName: string;
  readonly account: string;
  readonly region: string;
}

/**
 * Deploys a template without AWS: every intrinsic is resolved as CloudFormation does it. Throws for an intrinsic, a
 * type of resource or an attribute that it does not know: a guess here would be a permission that no test has examined.
 */
export function deploy({ Resources }: TemplateText, { stackName, account, region }: Place): readonly Deployed[] {
  const pseudoParameters: Readonly<Record<string, string>> = {
    'AWS::AccountId': account,
    'AWS::Partition': 'aws',
    'AWS::Region': region,
    'AWS::StackName': stackName,
  };

  function identify(id: string) {
    const { Type = 'of no resource', Properties } = Resources[id] ?? {};
    const property = (name: string) => resolve(Object(Properties)[name]);
    const [nameProperty, form, ref] = IDENTITIES[Type] ?? [];
    if (nameProperty === undefined) return undefined;
    const madeUp = makeUpName(stackName, id, LONGEST_NAMES[Type]);
    const name = `${property(nameProperty) ?? (Type === 'AWS::S3::Bucket' ? madeUp.toLowerCase() : madeUp)}`;
    const known: Readonly<Record<string, string>> = { name, account, place: `${region}:${account}` };
    const arn = form && `arn:aws:${form.replace(/<(\w+)>/g, (_, part: string) => known[part] ?? `${property(part)}`)}`;
    return { name, arn, ref: ref === 'arn' && arn !== undefined ? arn : name };
  }

  function attribute(id: string, attributeName: string): string {
    const { name, arn } = identify(id) ?? {};
    const values: Readonly<Record<string, string | undefined>> = { Arn: arn, QueueName: name, Version: '1' };
    const value = attributeName === 'FunctionUrl' ? `https://${id}.example.com/` : name && values[attributeName];
    return value ?? unknown(`${id}.${attributeName}`);
  }

  function resolve(value: unknown): unknown {
    if (Array.isArray(value)) return value.map(resolve);
    if (typeof value !== 'object' || value === null) return value;
    const entries = Object.entries(value);
    const [name = '', argument] = entries[0] ?? [];
    if (name === 'Ref') return pseudoParameters[`${argument}`] ?? identify(`${argument}`)?.ref ?? unknown(value);
    if (name === 'Fn::GetAtt') return attribute(argument[0], argument[1]);
    if (name === 'Fn::Join') return [resolve(argument[1])].flat().join(argument[0]);
    if (name.startsWith('Fn::')) unknown(value);
    return Object.fromEntries(entries.map(([key, inner]) => [key, resolve(inner)]));
  }

  return Object.entries(Resources).map(([id, { Type, Properties = {} }]) => {
    const { ref = id, arn } = identify(id) ?? {};
    return { id, type: Type, properties: resolve(Properties), ref, arn };
  });
}

/**
 * A name that the template leaves out begins as CloudFormation begins it, and its random end is made up here. Where the
 * type has a longest name, each of the two parts keeps at least half of the room.
 *
 * @see aws/aws-cdk#30179, data-dot-all/dataall#1233
 */
function makeUpName(stackName: string, id: string, longest = Number.POSITIVE_INFINITY): string {
  const random = Buffer.from(id).toString('hex').slice(-12);
  const room = longest - random.length - 2;
  const stack = stackName.slice(0, Math.max(Math.floor(room / 2), room - id.length));
  return [stack, id.slice(0, room - stack.length), random].join('-');
}

const LONGEST_NAMES: Readonly<Record<string, number>> = {
  'AWS::Events::Rule': 64,
  'AWS::IAM::Role': 64,
  'AWS::S3::Bucket': 63,
  'AWS::SQS::Queue': 80,
};

function unknown(what: unknown): never {
  throw new Error(`What is ${JSON.stringify(what)}?`);
}

/**
 * The types of resources that others refer to: the property with the name, the form of the ARN, and whether `Ref` is
 * the ARN instead of the name.
 *
 * @see https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-template-resource-type-ref.html
 */
const IDENTITIES: Readonly<Record<string, readonly [name: string, arn?: string, ref?: 'arn']>> = {
  'AWS::CloudTrail::Trail': ['TrailName', 'cloudtrail:<place>:trail/<name>'],
  'AWS::CloudWatch::Alarm': ['AlarmName', 'cloudwatch:<place>:alarm:<name>'],
  'AWS::CloudWatch::CompositeAlarm': ['AlarmName', 'cloudwatch:<place>:alarm:<name>'],
  'AWS::CodeDeploy::Application': ['ApplicationName'],
  'AWS::CodeDeploy::DeploymentConfig': ['DeploymentConfigName'],
  'AWS::CodeDeploy::DeploymentGroup': [
    'DeploymentGroupName',
    'codedeploy:<place>:deploymentgroup:<ApplicationName>/<name>',
  ],
  'AWS::DynamoDB::Table': ['TableName', 'dynamodb:<place>:table/<name>'],
  'AWS::Events::Rule': ['Name', 'events:<place>:rule/<name>'],
  'AWS::IAM::Role': ['RoleName', 'iam::<account>:role/<name>'],
  'AWS::KMS::Key': ['KeyId', 'kms:<place>:key/<name>'],
  'AWS::Lambda::Alias': ['Name', 'lambda:<place>:function:<FunctionName>:<name>', 'arn'],
  'AWS::Lambda::Function': ['FunctionName', 'lambda:<place>:function:<name>'],
  'AWS::Lambda::Version': ['Id', 'lambda:<place>:function:<FunctionName>:1', 'arn'],
  // With an asterisk at its end: a log group's streams are named after it.
  'AWS::Logs::LogGroup': ['LogGroupName', 'logs:<place>:log-group:<name>:*'],
  'AWS::S3::Bucket': ['BucketName', 's3:::<name>'],
  'AWS::SNS::Topic': ['TopicName', 'sns:<place>:<name>', 'arn'],
  'AWS::SQS::Queue': ['QueueName', 'sqs:<place>:<name>'],
  'AWS::SecretsManager::Secret': ['Name', 'secretsmanager:<place>:secret:<name>-A1b2C3', 'arn'],
};
