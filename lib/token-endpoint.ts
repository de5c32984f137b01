import { fileURLToPath } from 'node:url';
import { Duration, RemovalPolicy } from 'aws-cdk-lib';
import { AccountPrincipal, type IRole, PolicyStatement, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { Architecture, FunctionUrlAuthType, type Function as LambdaFunction, Runtime } from 'aws-cdk-lib/aws-lambda';
import { NodejsFunction } from 'aws-cdk-lib/aws-lambda-nodejs';
import { LogGroup, RetentionDays } from 'aws-cdk-lib/aws-logs';
import { Construct } from 'constructs';
import type { BrokerEnvironment, BrokerSettings } from '../functions/environment.ts';
import { functionBundle, SETTINGS_PATH } from './function-bundle.ts';
import { parseRoleArn } from './role-arn.ts';

interface TokenEndpointProps {
  readonly environment: string;
  readonly settings: BrokerSettings;
  readonly tableName: string;
}

/** The function that issues tokens, behind a URL that only the accounts of the access rules can call. */
export class TokenEndpoint extends Construct {
  readonly url: string;
  /** What the function may do; it starts with nothing but its own log. */
  readonly role: IRole;

  constructor(scope: Construct, id: string, { environment, settings, tableName }: TokenEndpointProps) {
    super(scope, id);
    const variables: BrokerEnvironment = {
      TOKEN_BROKER_ENVIRONMENT: environment,
      TOKEN_BROKER_TABLE: tableName,
      TOKEN_BROKER_SETTINGS: SETTINGS_PATH,
    };
    // The lines in it say who was given which token: they are kept when the stack goes.
    const logGroup = new LogGroup(this, 'Log', {
      retention: RetentionDays.ONE_YEAR,
      removalPolicy: RemovalPolicy.RETAIN,
    });
    this.role = new Role(this, 'Role', { assumedBy: new ServicePrincipal('lambda.amazonaws.com') });
    this.role.addToPrincipalPolicy(
      new PolicyStatement({
        actions: ['logs:CreateLogStream', 'logs:PutLogEvents'],
        resources: [logGroup.logGroupArn],
      }),
    );
    const tokenFunction = new NodejsFunction(this, 'Function', {
      // A fixed name, so that dashboards, alarms and other accounts can rely on it.
      functionName: `token-broker-${environment}`,
      description: `Issues tokens to the callers of environment ${environment}`,
      entry: fileURLToPath(new URL('../functions/token.ts', import.meta.url)),
      projectRoot: fileURLToPath(new URL('..', import.meta.url)),
      depsLockFilePath: fileURLToPath(new URL('../package-lock.json', import.meta.url)),
      bundling: functionBundle(this, settings),
      runtime: Runtime.NODEJS_24_X,
      architecture: Architecture.ARM_64,
      memorySize: 512,
      timeout: Duration.seconds(15),
      environment: { ...variables },
      // Else the CDK adds a variable that only version 2 of the SDK reads.
      awsSdkConnectionReuse: false,
      role: this.role,
      logGroup,
    });
    this.url = tokenFunction.addFunctionUrl({ authType: FunctionUrlAuthType.AWS_IAM }).url;
    for (const account of callerAccounts(settings)) allowCalls(tokenFunction, account);
  }
}

function callerAccounts({ accessRules }: BrokerSettings): readonly string[] {
  const accounts = accessRules.map(({ role }) => parseRoleArn(role)?.account ?? '');
  return [...new Set(accounts)].toSorted();
}

/**
 * A resource policy has room for accounts, not for every role: the account decides which of its roles may call, and the
 * access rules what they get. Nobody may invoke the function but through its URL: a direct event can claim any caller.
 */
function allowCalls(tokenFunction: LambdaFunction, account: string): void {
  const principal = new AccountPrincipal(account);
  tokenFunction.addPermission(`CallUrl${account}`, {
    principal,
    action: 'lambda:InvokeFunctionUrl',
    functionUrlAuthType: FunctionUrlAuthType.AWS_IAM,
  });
  tokenFunction.addPermission(`InvokeThroughUrl${account}`, {
    principal,
    action: 'lambda:InvokeFunction',
    invokedViaFunctionUrl: true,
  });
}
