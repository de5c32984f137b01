import { Duration, Lazy } from 'aws-cdk-lib';
import { AccountPrincipal, type IRole, PolicyStatement } from 'aws-cdk-lib/aws-iam';
import { FunctionUrlAuthType, type Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda';
import { Construct } from 'constructs';
import type { BrokerEnvironment, BrokerSettings } from '../functions/environment.ts';
import type { CalledFunction } from './function-alarms.ts';
import { SETTINGS_PATH } from './function-bundle.ts';
import { createLambdaFunction } from './lambda-function.ts';
import { parseRoleArn } from './role-arn.ts';

interface TokenEndpointProps {
  readonly environment: string;
  readonly settings: BrokerSettings;
  readonly tableName: string;
}

/** The function that issues tokens, behind a URL that only the accounts of the access rules and this stack can call. */
export class TokenEndpoint extends Construct {
  readonly url: string;
  /** What the function may do; it starts with nothing but its own log. */
  readonly role: IRole;
  /** What is called: its metrics are those of all calls. */
  readonly called: CalledFunction;
  readonly #function: LambdaFunction;
  readonly #checkers: IRole[] = [];

  constructor(scope: Construct, id: string, { environment, settings, tableName }: TokenEndpointProps) {
    super(scope, id);
    const variables: BrokerEnvironment = {
      TOKEN_BROKER_ENVIRONMENT: environment,
      TOKEN_BROKER_TABLE: tableName,
      TOKEN_BROKER_SETTINGS: SETTINGS_PATH,
      TOKEN_BROKER_CHECKER_ROLES: Lazy.string({
        produce: () => this.#checkers.map(({ roleArn }) => roleArn).join(' '),
      }),
    };
    const { lambdaFunction, role } = createLambdaFunction(this, {
      // A fixed name, so that dashboards, alarms and other accounts can rely on it.
      functionName: `token-broker-${environment}`,
      description: `Issues tokens to the callers of environment ${environment}`,
      entry: 'token.ts',
      settings,
      memorySize: 512,
      timeout: Duration.seconds(15),
      environment: { ...variables },
    });
    this.role = role;
    this.called = lambdaFunction;
    this.#function = lambdaFunction;
    this.url = lambdaFunction.addFunctionUrl({ authType: FunctionUrlAuthType.AWS_IAM }).url;
    for (const account of callerAccounts(settings)) allowCallsFrom(lambdaFunction, account);
  }

  /** Lets a role of this stack check the credential of every client on every service. */
  allowChecks(role: IRole): void {
    this.allowCalls(role);
    this.#checkers.push(role);
  }

  /** Lets a role of this stack call the URL; without an access rule it is then refused by the broker. */
  allowCalls(role: IRole): void {
    role.addToPrincipalPolicy(
      new PolicyStatement({
        actions: ['lambda:InvokeFunctionUrl'],
        resources: [this.#function.functionArn],
        conditions: { StringEquals: { 'lambda:FunctionUrlAuthType': FunctionUrlAuthType.AWS_IAM } },
      }),
    );
    role.addToPrincipalPolicy(
      new PolicyStatement({
        actions: ['lambda:InvokeFunction'],
        resources: [this.#function.functionArn],
        conditions: { Bool: { 'lambda:InvokedViaFunctionUrl': 'true' } },
      }),
    );
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
function allowCallsFrom(tokenFunction: LambdaFunction, account: string): void {
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
