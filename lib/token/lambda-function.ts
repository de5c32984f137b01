import { fileURLToPath } from 'node:url';
import { RemovalPolicy, Stack } from 'aws-cdk-lib';
import { Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import { Architecture, LoggingFormat, Runtime, SystemLogLevel, Tracing } from 'aws-cdk-lib/aws-lambda';
import { NodejsFunction, type NodejsFunctionProps } from 'aws-cdk-lib/aws-lambda-nodejs';
import { LogGroup, type RetentionDays } from 'aws-cdk-lib/aws-logs';
import type { Construct } from 'constructs';
import { allow } from '../data/allow.ts';
import { urlSuffixOf } from '../settings/regions.ts';
import { type BundleOptions, functionBundle } from './function-bundle.ts';

/** The logs and traces of all functions of an environment. */
export interface Observability {
  /** Encrypts the logs. */
  readonly key: IKey;
  readonly logRetentionDays: RetentionDays;
  /** Whether Lambda writes a trace of each call. The code contains no tracing library. */
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

/** Creates a function of `functions/` on Node 24 and arm64. Its role may only write its log and its traces. */
export function createLambdaFunction(scope: Construct, { entry, settings, observability, roleName, ...props }: Props) {
  // Keeps the audit lines when the stack is destroyed, but deletes the log when its creation fails.
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
    environment: { ...props.environment, ...endpointVariables(Stack.of(scope).region) },
    entry: fileURLToPath(new URL(`../../functions/${entry}`, import.meta.url)),
    projectRoot: fileURLToPath(new URL('../..', import.meta.url)),
    depsLockFilePath: fileURLToPath(new URL('../../package-lock.json', import.meta.url)),
    bundling: functionBundle(scope, { settings }),
    runtime: Runtime.NODEJS_24_X,
    architecture: Architecture.ARM_64,
    // The CDK then allows the role to write traces to `*`, because X-Ray has no resources to name.
    ...(observability.tracing && { tracing: Tracing.ACTIVE }),
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
  return { lambdaFunction, role };
}

/** Returns the variables with AWS's hosts where they do not end as the functions' own calls assume. */
function endpointVariables(region: string): Readonly<Record<string, string>> {
  const suffix = urlSuffixOf(region);
  if (suffix === 'amazonaws.com') return {};
  const services = { CODEDEPLOY: 'codedeploy', DYNAMODB: 'dynamodb', SECRETS_MANAGER: 'secretsmanager' };
  return Object.fromEntries(
    Object.entries(services).map(([name, host]) => [`AWS_ENDPOINT_URL_${name}`, `https://${host}.${region}.${suffix}`]),
  );
}
