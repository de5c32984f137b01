import { fileURLToPath } from 'node:url';
import { RemovalPolicy, Stack } from 'aws-cdk-lib';
import { Effect, PolicyStatement, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import { Architecture, CfnFunction, LoggingFormat, Runtime, SystemLogLevel, Tracing } from 'aws-cdk-lib/aws-lambda';
import { NodejsFunction, type NodejsFunctionProps } from 'aws-cdk-lib/aws-lambda-nodejs';
import { LogGroup } from 'aws-cdk-lib/aws-logs';
import type { Construct } from 'constructs';
import { allow } from '../data/allow.ts';
import { asFunction } from '../data/client-secrets.ts';
import type { Environment } from '../settings/settings.ts';
import { functionBundle } from './function-bundle.ts';

interface Props
  extends Pick<NodejsFunctionProps, 'description' | 'memorySize' | 'timeout'>,
    Pick<NodejsFunctionProps, 'onFailure' | 'retryAttempts' | 'maxEventAge' | 'reservedConcurrentExecutions'> {
  readonly functionName: string;
  readonly entry: 'token.ts' | 'health.ts' | 'release-check.ts';
  /** Stored next to the code. */
  readonly settings?: object;
  readonly environment: Environment;
  readonly variables: Readonly<Record<string, string>>;
  /** Encrypts the log. */
  readonly key: IKey;
  readonly roleName?: string;
}

/** Creates a function of `functions/` on Node 24 and arm64. Its role may only write its log and its traces. */
export function createLambdaFunction(
  scope: Construct,
  { entry, settings, environment, variables, key, roleName, ...props }: Props,
) {
  const { logRetentionDays, tracing, vpc } = environment;
  // Keeps the audit lines when the stack is destroyed, but deletes the log when its creation fails.
  const logGroup = new LogGroup(scope, 'Log', {
    encryptionKey: key,
    retention: logRetentionDays,
    removalPolicy: RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE,
  });
  const role = new Role(scope, 'Role', {
    ...(roleName !== undefined && { roleName }),
    assumedBy: new ServicePrincipal('lambda.amazonaws.com'),
  });
  allow(role, ['logs:CreateLogStream', 'logs:PutLogEvents'], logGroup.logGroupArn);
  const lambdaFunction = new NodejsFunction(scope, 'Function', {
    ...props,
    environment: variables,
    entry: fileURLToPath(new URL(`../../functions/${entry}`, import.meta.url)),
    projectRoot: fileURLToPath(new URL('../..', import.meta.url)),
    depsLockFilePath: fileURLToPath(new URL('../../package-lock.json', import.meta.url)),
    bundling: functionBundle(scope, settings),
    runtime: Runtime.NODEJS_24_X,
    architecture: Architecture.ARM_64,
    // The CDK then allows the role to write traces to `*`, because X-Ray has no resources to name.
    ...(tracing && { tracing: Tracing.ACTIVE }),
    // Kept for a rollback. If a failed creation left it behind, Lambda would not publish the same code again.
    currentVersionOptions: { removalPolicy: RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE },
    // The default adds a variable that only version 2 of the SDK reads.
    awsSdkConnectionReuse: false,
    role,
    logGroup,
    // Omits Lambda's three lines per call, because the audit line contains the duration. Only JSON supports a level.
    loggingFormat: LoggingFormat.JSON,
    systemLogLevelV2: SystemLogLevel.WARN,
  });
  // The other functions call no service.
  if (vpc !== undefined && (vpc.all || entry === 'token.ts'))
    placeIntoVpc(lambdaFunction, role, props.functionName, vpc);
  return { lambdaFunction, role };
}

/**
 * Moves a function into a VPC, so that its requests come from the addresses of that VPC's NAT gateways.
 *
 * @see https://docs.aws.amazon.com/lambda/latest/dg/configuration-vpc.html
 */
function placeIntoVpc(
  lambdaFunction: NodejsFunction,
  role: Role,
  functionName: string,
  { subnetIds, securityGroupIds }: NonNullable<Environment['vpc']>,
): void {
  const resource = lambdaFunction.node.defaultChild;
  if (!(resource instanceof CfnFunction)) throw new TypeError('A function is a resource of CloudFormation.');
  // The CDK's `vpc` property requires the id and the zones of the VPC, which Lambda does not need.
  resource.vpcConfig = { subnetIds: [...subnetIds], securityGroupIds: [...securityGroupIds] };

  const arn = (type: string, id: string) =>
    Stack.of(lambdaFunction).formatArn({ service: 'ec2', resource: type, resourceName: id });
  const changes = ['ec2:AssignPrivateIpAddresses', 'ec2:DeleteNetworkInterface', 'ec2:UnassignPrivateIpAddresses'];
  const looks = ['ec2:DescribeNetworkInterfaces', 'ec2:DescribeSubnets'];
  const places = [
    arn('network-interface', '*'),
    ...subnetIds.map((id) => arn('subnet', id)),
    ...securityGroupIds.map((id) => arn('security-group', id)),
  ];
  for (const place of places) allow(role, ['ec2:CreateNetworkInterface'], place);
  // Lambda first tests the rights by deleting an interface without an id. These actions apply to interfaces only.
  allow(role, changes, arn('*', '*'));
  // EC2 supports no narrower resource for these actions.
  allow(role, looks, '*');
  // Lambda itself needs these rights. The code that runs under the role must not use them.
  role.addToPolicy(
    new PolicyStatement({
      effect: Effect.DENY,
      actions: ['ec2:CreateNetworkInterface', ...changes, ...looks],
      resources: ['*'],
      conditions: asFunction(lambdaFunction, functionName),
    }),
  );
}
