import type { Stack } from 'aws-cdk-lib';

/** The findings that stay in the stack of an environment. A test fails for each one that the checks no longer find. */
export function acknowledgements(stack: Stack, environment: string): readonly Acknowledgement[] {
  const { region, account, node } = stack;
  // With a canary.
  const releaseCheck = node.tryFindChild('ReleaseCheck') === undefined ? [] : ['ReleaseCheck'];
  const everySecret = `Resource::arn:aws:secretsmanager:${region}:${account}:secret:token-broker/${environment}/*`;
  return [
    {
      construct: 'TokenEndpoint/Role',
      id: `AwsSolutions::AwsSolutions-IAM5[${everySecret}]`,
      reason: 'The operator who stores the secrets decides which clients there are; the template does not know them',
    },
    {
      construct: 'CredentialHealth/Role',
      id: `AwsSolutions::AwsSolutions-IAM5[${everySecret}]`,
      reason: 'Clients come and go without a deployment; the role may only use DescribeSecret',
    },
    ...['CredentialHealth', 'TokenEndpoint', ...releaseCheck].map((construct) => ({
      construct: `${construct}/Role`,
      id: 'AwsSolutions::AwsSolutions-IAM5[Resource::*]',
      reason: 'Lists, looks and traces, for which AWS knows no narrower resource; a test names each such action',
    })),
    {
      // With a canary.
      construct: 'TokenEndpoint',
      id: `AwsSolutions::AwsSolutions-IAM5[Resource::arn:aws:cloudwatch:${region}:${account}:alarm:*]`,
      reason: 'CodeDeploy reads the state of alarms without naming them, and changes nothing',
    },
    {
      // In a VPC.
      construct: 'TokenEndpoint/Role',
      id: `AwsSolutions::AwsSolutions-IAM5[Resource::arn:aws:ec2:${region}:${account}:network-interface/*]`,
      reason: 'Lambda chooses the ids of the interfaces; a Deny keeps the code of the function from using this',
    },
    {
      construct: 'PairTable/SealingKey',
      id: 'AwsSolutions::AwsSolutions-SMG4',
      reason: 'An operator makes a new version after a leak; a scheduled one would only make every cached token a miss',
    },
    {
      construct: 'PairTable/Table',
      id: 'AwsSolutions::AwsSolutions-DDB3',
      reason: 'The table is a cache: the broker requests lost tokens again, and a restored token may have expired',
    },
    {
      construct: 'FailedEvents/Queue',
      id: 'AwsSolutions::AwsSolutions-SQS3',
      reason: 'It is the last queue: events that failed for good stay in it until an operator has read them',
    },
    {
      construct: 'FailedEvents/Queue',
      id: 'Serverless::Serverless-SQSRedrivePolicy',
      reason: 'Only operators read it, so no message is received again and again',
    },
    {
      construct: 'TokenEndpoint/Function',
      id: 'Serverless::Serverless-LambdaDLQ',
      reason: 'It is only called synchronously, through its URL: the answer tells the caller what went wrong',
    },
    {
      construct: 'CredentialHealth/Function',
      id: 'Serverless::Serverless-LambdaDLQ',
      reason:
        'Failures go to FailedEvents as an onFailure destination, which keeps the cause; a dead-letter queue does not',
    },
    ...releaseCheck.map((construct) => ({
      construct: `${construct}/Function`,
      id: 'Serverless::Serverless-LambdaDLQ',
      reason: 'CodeDeploy starts it and waits for its report: without one the deployment fails',
    })),
    {
      construct: 'CredentialHealth/Rule',
      id: 'Serverless::Serverless-EventBusDLQ',
      reason:
        'After an hour traffic or health has found the new version anyway; failures of the function go to FailedEvents',
    },
    ...['CredentialHealth', 'TokenEndpoint', ...releaseCheck].map((construct) => ({
      construct: `${construct}/Function`,
      id: 'Serverless::Serverless-LambdaTracing',
      reason: 'The audit line says how long each step took, and costs less than a trace',
    })),
    {
      // With a trail.
      construct: 'Monitoring',
      id: 'AwsSolutions::AwsSolutions-S1',
      reason: 'The bucket holds the records of the trail itself, and CloudTrail alone writes to it',
    },
    {
      construct: 'OperatorTopic/Topic',
      id: 'Serverless::Serverless-SNSRedrivePolicy',
      reason: 'An undelivered e-mail could only be reported by e-mail; the alarm stays red in the console',
    },
  ];
}

/** The rules of cfn-lint whose findings stay. */
export const cfnLintRules: Readonly<Record<string, string>> = {
  I1022: 'The CDK writes a text that holds a reference as Fn::Join',
  W3005: 'The CDK makes a function depend on its role, which the function names anyway',
};

/** A finding of `checkTemplates` that stays. */
export interface Acknowledgement {
  /** The path of the construct within the stack; the constructs inside it are covered too. */
  readonly construct: string;
  /** The id that the report of the checks shows. */
  readonly id: string;
  readonly reason: string;
}
