import { type IRole, PolicyStatement } from 'aws-cdk-lib/aws-iam';
import { type Alias, FunctionUrlAuthType } from 'aws-cdk-lib/aws-lambda';

/** Lets a role of this stack call the URL of an alias, and the alias in no other way. */
export function allowUrlCalls(role: IRole, { functionArn }: Alias): void {
  role.addToPrincipalPolicy(
    new PolicyStatement({
      actions: ['lambda:InvokeFunctionUrl'],
      resources: [functionArn],
      conditions: { StringEquals: { 'lambda:FunctionUrlAuthType': FunctionUrlAuthType.AWS_IAM } },
    }),
  );
  role.addToPrincipalPolicy(
    new PolicyStatement({
      actions: ['lambda:InvokeFunction'],
      resources: [functionArn],
      conditions: { Bool: { 'lambda:InvokedViaFunctionUrl': 'true' } },
    }),
  );
}
