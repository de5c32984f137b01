import { fileURLToPath } from 'node:url';
import { RemovalPolicy } from 'aws-cdk-lib';
import { Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import { Architecture, LoggingFormat, Runtime, SystemLogLevel, Tracing } from 'aws-cdk-lib/aws-lambda';
import { NodejsFunction, type NodejsFunctionProps } from 'aws-cdk-lib/aws-lambda-nodejs';
import { LogGroup, type RetentionDays } from 'aws-cdk-lib/aws-logs';
import type { Construct } from 'constructs';
import { allow } from '../data/allow.ts';
import { type BundleOptions, functionBundle } from './function-bundle.ts';

/** Logs and traces, alike for every function of an environment. */
export interface Observability {
  /** Encrypts the logs. */
  readonly key: IKey;
  readonly logRetentionDays: RetentionDays;
  /** Whether Lambda itself writes a trace of each call; there is no tracing library in the code. */
  readonly tracing: boolean;
}

interface Props
  extends Pick<NodejsFunctionProps, 'functionName' | 'description' | 'memorySize' | 'timeout'>,
    Pick<NodejsFunctionProps, 'onFailure' | 'retryAttempts' | 'maxEventAge' | 'reservedConcurrentExecutions'>,
    BundleOptions {
  readonly entry: 'token.ts' | 'health.ts' | 'release-check.ts';
  readonly environment: Readonly<Record<string, string>>;
  readonly observability: Observability;
  readonly roleName?: string;
}

/** A function of `functions/` on Node 24 and arm64; its role may do nothing but write its log, and traces if there are any. */
export function createLambdaFunction(scope: Construct, { entry, settings, observability, roleName, ...props }: Props) {
  // It holds the audit lines, so it stays when the stack is destroyed; not when its creation fails.
  const logGroup = new LogGroup(scope, 'Log', {
    encryptionKey: observability.key,
    retention: observability.logRetentionDays,
    removalPolicy: RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE,
  });
  const role = new Role(scope, 'Role', {
    ...(roleName !== undefined && { roleName }),
    assumedBy: new ServicePrincipal('lambda.amazonaws.com'),
  });
  allow(role, ['logs:CreateLogStream', 'logs:PutLogEvents'], logGroup.logGroupArn);
  const lambdaFunction = new NodejsFunction(scope, 'Function', {
    ...props,
    entry: fileURLToPath(new URL(`../../functions/${entry}`, import.meta.url)),
    projectRoot: fileURLToPath(new URL('../..', import.meta.url)),
    depsLockFilePath: fileURLToPath(new URL('../../package-lock.json', import.meta.url)),
    bundling: functionBundle(scope, { settings }),
    runtime: Runtime.NODEJS_24_X,
    architecture: Architecture.ARM_64,
    // With this the CDK lets the role write traces: to `*`, since X-Ray has no resources to name.
    ...(observability.tracing && { tracing: Tracing.ACTIVE }),
    // Kept as the way back, but not if its creation fails: Lambda would not publish the same code and settings again.
    currentVersionOptions: { removalPolicy: RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE },
    // Otherwise the CDK adds a variable that only version 2 of the SDK reads.
    awsSdkConnectionReuse: false,
    role,
    logGroup,
    // Without the three lines that Lambda adds to each call: the audit line has a duration. Only JSON can have a level.
    loggingFormat: LoggingFormat.JSON,
    systemLogLevelV2: SystemLogLevel.WARN,
  });
  return { lambdaFunction, role };
}
