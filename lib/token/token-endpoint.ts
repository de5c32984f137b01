import { Duration, Lazy, Stack } from 'aws-cdk-lib';
import { AccountPrincipal, type IPrincipal, type IRole, OrganizationPrincipal } from 'aws-cdk-lib/aws-iam';
import { type Alias, FunctionUrlAuthType } from 'aws-cdk-lib/aws-lambda';
import { CfnSubscriptionFilter } from 'aws-cdk-lib/aws-logs';
import { StringParameter } from 'aws-cdk-lib/aws-ssm';
import { Construct } from 'constructs';
import type { BrokerVariables } from '../../functions/variables.ts';
import { allowUrlCalls } from '../data/allow.ts';
import type { ClientSecrets } from '../data/client-secrets.ts';
import type { CalledFunction } from '../monitoring/metrics.ts';
import { callerAccounts } from '../settings/access-rules.ts';
import { ALIAS, functionName, tokenRoleName, urlParameterName } from '../settings/names.ts';
import { type Environment, toBrokerSettings } from '../settings/settings.ts';
import { Canary, ReleaseCheck } from './canary.ts';
import { SETTINGS_PATH } from './function-bundle.ts';
import { createLambdaFunction } from './lambda-function.ts';

interface TokenEndpointProps {
  readonly environment: Environment;
  readonly tableName: string;
  readonly secrets: ClientSecrets;
}

/** The function that issues tokens. Only this stack, and the rules' accounts or an organization, can call its URL. */
export class TokenEndpoint extends Construct {
  readonly url: string;
  /** The role of the function. Initially it may only write its own log. */
  readonly role: IRole;
  readonly called: CalledFunction;
  /** The version in use. No role may call another version, or the function without its alias. */
  readonly #alias: Alias;
  readonly #checkers: IRole[] = [];
  #probe: IRole | undefined;

  constructor(scope: Construct, id: string, { environment, tableName, secrets }: TokenEndpointProps) {
    super(scope, id);
    const { name, canary, reservedConcurrency, provisionedConcurrency, logDestinationArn } = environment;
    const variables: BrokerVariables = {
      TOKEN_BROKER_ENVIRONMENT: name,
      TOKEN_BROKER_TABLE: tableName,
      TOKEN_BROKER_SETTINGS: SETTINGS_PATH,
      TOKEN_BROKER_CHECKER_ROLES: Lazy.string({ produce: () => this.#checkers.map((role) => role.roleArn).join(' ') }),
      TOKEN_BROKER_PROBE_ROLE: Lazy.string({ produce: () => this.#probe?.roleArn }),
    };
    const { lambdaFunction, role } = createLambdaFunction(this, {
      functionName: functionName(name),
      roleName: tokenRoleName(name),
      description: `Issues tokens to the callers of environment ${name}`,
      entry: 'token.ts',
      settings: toBrokerSettings(environment),
      memorySize: 512,
      timeout: Duration.seconds(15),
      environment,
      variables: { ...variables },
      key: secrets.key,
      ...(reservedConcurrency !== 'none' && { reservedConcurrentExecutions: reservedConcurrency }),
    });
    this.role = role;
    if (logDestinationArn !== undefined) {
      const { logGroupName } = lambdaFunction.logGroup;
      // The empty pattern matches every line.
      const subscription = { logGroupName, destinationArn: logDestinationArn, filterPattern: '' };
      new CfnSubscriptionFilter(this, 'LogDestination', subscription);
    }

    this.#alias = lambdaFunction.addAlias(
      ALIAS,
      provisionedConcurrency > 0 ? { provisionedConcurrentExecutions: provisionedConcurrency } : {},
    );
    this.called = this.#alias;
    this.url = this.#alias.addFunctionUrl({ authType: FunctionUrlAuthType.AWS_IAM }).url;
    new StringParameter(this, 'UrlParameter', {
      parameterName: urlParameterName(name),
      description: `URL of the token broker of environment ${name}`,
      stringValue: this.url,
    });
    for (const [id, principal] of callingPrincipals(environment)) {
      this.#alias.addPermission(`CallUrl${id}`, {
        principal,
        action: 'lambda:InvokeFunctionUrl',
        functionUrlAuthType: FunctionUrlAuthType.AWS_IAM,
      });
      // Requires the URL for every invocation, because a direct event can claim any caller.
      this.#alias.addPermission(`InvokeThroughUrl${id}`, {
        principal,
        action: 'lambda:InvokeFunction',
        invokedViaFunctionUrl: true,
      });
    }
    if (canary !== 'off') {
      const { version } = this.#alias;
      // Next to this construct, so that its resources keep their ids.
      const check = new ReleaseCheck(Stack.of(this), 'ReleaseCheck', { environment, version, secrets });
      this.#checkers.push(check.role);
      new Canary(this, 'Canary', { ...canary, environment, alias: this.#alias, check });
    }
  }

  /** Lets a role of this stack check the credential of every client on every service. */
  allowChecks(role: IRole): void {
    allowUrlCalls(role, this.#alias);
    this.#checkers.push(role);
  }

  /** Lets a role of this stack call the URL, to prove that the broker refuses a role without an access rule. */
  allowProbe(role: IRole): void {
    allowUrlCalls(role, this.#alias);
    this.#probe = role;
  }
}

/**
 * The principals that may call the URL, by the id of their permissions. The policy has room for accounts, not for
 * roles: each account decides which of its roles may call. An organization includes every role of the broker's account.
 */
function callingPrincipals({ callers, principalOrgId, accessRules }: Environment): readonly [string, IPrincipal][] {
  if (callers === 'organization' && principalOrgId !== undefined) {
    return [['Organization', new OrganizationPrincipal(principalOrgId)]];
  }
  return callerAccounts(accessRules).map((account) => [account, new AccountPrincipal(account)]);
}
