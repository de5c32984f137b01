import { Stack } from 'aws-cdk-lib';
import { Effect, type IRole, PolicyStatement } from 'aws-cdk-lib/aws-iam';
import { CfnFunction, type Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda';
import { functionName } from './names.ts';
import type { Vpc } from './operation-schema.ts';

/**
 * Moves the token function into a VPC, so that it leaves AWS by the addresses of that VPC's NAT gateways.
 *
 * @see https://docs.aws.amazon.com/lambda/latest/dg/configuration-vpc.html
 */
export function placeIntoVpc(lambdaFunction: LambdaFunction, role: IRole, environment: string, vpc: Vpc): void {
  const { subnetIds, securityGroupIds } = vpc;
  const resource = lambdaFunction.node.defaultChild;
  if (!(resource instanceof CfnFunction)) throw new TypeError('A function is a resource of CloudFormation.');
  // The CDK's own way asks for the id and the zones of the VPC, which Lambda does not need.
  resource.vpcConfig = { subnetIds: [...subnetIds], securityGroupIds: [...securityGroupIds] };

  const arn = (type: string, id: string) =>
    Stack.of(lambdaFunction).formatArn({ service: 'ec2', resource: type, resourceName: id });
  const interfaces = arn('network-interface', '*');
  const places = [
    ...subnetIds.map((id) => arn('subnet', id)),
    ...securityGroupIds.map((id) => arn('security-group', id)),
  ];
  const changes = ['ec2:AssignPrivateIpAddresses', 'ec2:DeleteNetworkInterface', 'ec2:UnassignPrivateIpAddresses'];
  const looks = ['ec2:DescribeNetworkInterfaces', 'ec2:DescribeSubnets'];
  for (const statement of [
    { actions: ['ec2:CreateNetworkInterface'], resources: [interfaces, ...places] },
    { actions: changes, resources: [interfaces] },
    // EC2 knows no narrower resource for looking.
    { actions: looks, resources: ['*'] },
    // All this is for the Lambda service that carries the role, and none of it for the code that runs under it.
    {
      effect: Effect.DENY,
      actions: ['ec2:CreateNetworkInterface', ...changes, ...looks],
      resources: ['*'],
      conditions: { ArnEquals: { 'lambda:SourceFunctionArn': functionArn(Stack.of(lambdaFunction), environment) } },
    },
  ]) {
    role.addToPrincipalPolicy(new PolicyStatement(statement));
  }
}

/** Written out, because the function itself waits for its role's policy. */
function functionArn(stack: Stack, environment: string): string {
  return stack.formatArn({
    service: 'lambda',
    resource: `function:${functionName(environment)}`,
  });
}
