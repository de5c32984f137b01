import { fileURLToPath } from 'node:url';
import { RemovalPolicy } from 'aws-cdk-lib';
import { PolicyStatement, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { Architecture, type Function as LambdaFunction, Runtime } from 'aws-cdk-lib/aws-lambda';
import { NodejsFunction, type NodejsFunctionProps } from 'aws-cdk-lib/aws-lambda-nodejs';
import { LogGroup, RetentionDays } from 'aws-cdk-lib/aws-logs';
import type { Construct } from 'constructs';
import { functionBundle } from './function-bundle.ts';

interface Props
  extends Pick<NodejsFunctionProps, 'functionName' | 'description' | 'memorySize' | 'timeout'>,
    Pick<NodejsFunctionProps, 'onFailure' | 'retryAttempts' | 'maxEventAge'> {
  readonly entry: 'token.ts' | 'health.ts' | 'rotation.ts';
  /** Laid beside the code as JSON, see `SETTINGS_PATH`. */
  readonly settings?: object;
  readonly environment: Readonly<Record<string, string>>;
}

/** A function of `functions/` on Node 24 and arm64; its role may do nothing but write its log. */
export function createLambdaFunction(scope: Construct, { entry, settings, ...props }: Props): RunningFunction {
  // The lines in it say who asked for what and how it ended: they are kept when the stack goes.
  const logGroup = new LogGroup(scope, 'Log', {
    retention: RetentionDays.ONE_YEAR,
    removalPolicy: RemovalPolicy.RETAIN,
  });
  const role = new Role(scope, 'Role', { assumedBy: new ServicePrincipal('lambda.amazonaws.com') });
  role.addToPrincipalPolicy(
    new PolicyStatement({
      actions: ['logs:CreateLogStream', 'logs:PutLogEvents'],
      resources: [logGroup.logGroupArn],
    }),
  );
  const lambdaFunction = new NodejsFunction(scope, 'Function', {
    ...props,
    entry: fileURLToPath(new URL(`../functions/${entry}`, import.meta.url)),
    projectRoot: fileURLToPath(new URL('..', import.meta.url)),
    depsLockFilePath: fileURLToPath(new URL('../package-lock.json', import.meta.url)),
    bundling: functionBundle(scope, settings),
    runtime: Runtime.NODEJS_24_X,
    architecture: Architecture.ARM_64,
    // Else the CDK adds a variable that only version 2 of the SDK reads.
    awsSdkConnectionReuse: false,
    role,
    logGroup,
  });
  return { lambdaFunction, role };
}

interface RunningFunction {
  readonly lambdaFunction: LambdaFunction;
  readonly role: Role;
}
