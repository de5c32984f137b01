import type { Request } from './iam.ts';

/** What AWS checks when a Function URL is called: both must be allowed. */
export function callUrl(role: string, functionArn: string): readonly Request[] {
  const requester = { kind: 'role', arn: role } as const;
  return [
    {
      requester,
      action: 'lambda:InvokeFunctionUrl',
      resource: functionArn,
      context: { 'lambda:FunctionUrlAuthType': 'AWS_IAM' },
    },
    {
      requester,
      action: 'lambda:InvokeFunction',
      resource: functionArn,
      context: { 'lambda:InvokedViaFunctionUrl': 'true' },
    },
  ];
}

/** What AWS checks when a function is invoked past its URL, with any event. */
export function invoke(role: string, functionArn: string): Request {
  return {
    requester: { kind: 'role', arn: role },
    action: 'lambda:InvokeFunction',
    resource: functionArn,
    context: { 'lambda:InvokedViaFunctionUrl': 'false' },
  };
}
