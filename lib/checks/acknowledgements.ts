import type { Stack } from 'aws-cdk-lib';

/** The findings that stay in the stack of an environment. A test fails when one of these is no longer found. */
export function acknowledgements({ region, account }: Stack, environment: string): readonly Acknowledgement[] {
  const everySecret = `Resource::arn:aws:secretsmanager:${region}:${account}:secret:token-broker/${environment}/*`;
  return [
    {
      construct: 'TokenEndpoint/Role',
      id: `AwsSolutions::AwsSolutions-IAM5[${everySecret}]`,
      reason: 'Which clients there are is known to the operator who stores their secrets, not to the template',
    },
    {
      construct: 'CredentialHealth/Role',
      id: `AwsSolutions::AwsSolutions-IAM5[${everySecret}]`,
      reason: 'As the token function: clients come and go without a deployment; and it is DescribeSecret alone',
    },
    ...['CredentialHealth/Role', 'TokenEndpoint/Role'].map((construct) => ({
      construct,
      id: 'AwsSolutions::AwsSolutions-IAM5[Resource::*]',
      reason: 'Lists, looks and traces, for which AWS knows no narrower resource; a test names each such action',
    })),
    {
      // With a canary.
      construct: 'TokenEndpoint',
      id: `AwsSolutions::AwsSolutions-IAM5[Resource::arn:aws:cloudwatch:${region}:${account}:alarm:*]`,
      reason: 'CodeDeploy asks CloudWatch for alarms as it likes; it learns their state and changes nothing',
    },
    {
      // In a VPC.
      construct: 'TokenEndpoint/Role',
      id: `AwsSolutions::AwsSolutions-IAM5[Resource::arn:aws:ec2:${region}:${account}:network-interface/*]`,
      reason: 'Lambda gives the interfaces their ids; a Deny keeps the code of the function from using this',
    },
    {
      construct: 'PairTable/SealingKey',
      id: 'AwsSolutions::AwsSolutions-SMG4',
      reason:
        'A new version is made by hand when a leak is feared; by itself it would only make every cached token a miss',
    },
    {
      construct: 'PairTable/Table',
      id: 'AwsSolutions::AwsSolutions-DDB3',
      reason: 'The table is a cache: what is lost is requested again, and a restored token may be long over',
    },
    {
      construct: 'FailedEvents/Queue',
      id: 'AwsSolutions::AwsSolutions-SQS3',
      reason: 'It is the end of the way: events that failed for good lie in it until an operator has read them',
    },
    {
      construct: 'FailedEvents/Queue',
      id: 'Serverless::Serverless-SQSRedrivePolicy',
      reason: 'Nothing but operators reads it, so no message is received again and again',
    },
    {
      construct: 'TokenEndpoint/Function',
      id: 'Serverless::Serverless-LambdaDLQ',
      reason: 'It is only called synchronously, through its URL: its caller is told what went wrong',
    },
    {
      construct: 'CredentialHealth/Function',
      id: 'Serverless::Serverless-LambdaDLQ',
      reason:
        'Failures go to FailedEvents as an onFailure destination, which tells the cause and a dead-letter queue does not',
    },
    {
      construct: 'CredentialHealth/Rule',
      id: 'Serverless::Serverless-EventBusDLQ',
      reason:
        'What is not delivered within an hour has been found by traffic or by health; failures of the function itself go to FailedEvents',
    },
    ...['TokenEndpoint/Function', 'CredentialHealth/Function'].map((construct) => ({
      construct,
      id: 'Serverless::Serverless-LambdaTracing',
      reason: 'The audit line tells where the time went, for less than a trace',
    })),
    {
      construct: 'OperatorTopic/Topic',
      id: 'Serverless::Serverless-SNSRedrivePolicy',
      reason: 'Mail that cannot be delivered would have to be told by mail; the alarm stays red in the console',
    },
  ];
}

/** The rules of cfn-lint whose findings stay. */
export const cfnLintRules: Readonly<Record<string, string>> = {
  I1022: 'The CDK writes a text with a reference in it as Fn::Join',
  W3005: 'The CDK lets a function wait for the policies of its role, and for the role itself, which it names anyway',
};

/** A finding of `checkTemplates` that stays. */
export interface Acknowledgement {
  /** Where it is, from the stack on; whatever is below is covered too. */
  readonly construct: string;
  /** As the checks tell it, to the letter. */
  readonly id: string;
  readonly reason: string;
}
