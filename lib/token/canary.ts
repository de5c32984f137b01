import { Duration, Stack } from 'aws-cdk-lib';
import {
  LambdaApplication,
  LambdaDeploymentConfig,
  LambdaDeploymentGroup,
  TimeBasedCanaryTrafficRouting,
} from 'aws-cdk-lib/aws-codedeploy';
import { type IRole, Policy, PolicyStatement, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { Alias, FunctionUrlAuthType, type IFunction, type IVersion } from 'aws-cdk-lib/aws-lambda';
import { Construct } from 'constructs';
import { type ReleaseCheckVariables, rulesDigest } from '../../functions/variables.ts';
import { allowUrlCalls } from '../data/allow.ts';
import type { ClientSecrets } from '../data/client-secrets.ts';
import { NEW_VERSION_ALARMS, type WatchedVersion } from '../monitoring/alarms.ts';
import { brokerMetrics, newVersionMetric } from '../monitoring/metrics.ts';
import { createAlarms } from '../monitoring/monitoring.ts';
import { ALIAS, functionName, NEXT_ALIAS, releaseCheckName } from '../settings/names.ts';
import type { Environment } from '../settings/settings.ts';
import { createLambdaFunction } from './lambda-function.ts';

interface CanaryProps {
  readonly environment: Environment;
  readonly alias: Alias;
  readonly percent: number;
  readonly minutes: number;
  /** Keeps traffic from a new version until it has passed. A failed check fails the deployment. */
  readonly check: ReleaseCheck;
}

/** Sends a part of the traffic to a new version first, and the rest unless an alarm of that version rings. */
export class Canary extends Construct {
  constructor(scope: Construct, id: string, { environment, alias, percent, minutes, check }: CanaryProps) {
    super(scope, id);
    const name = functionName(environment.name);
    const { version } = alias.version;
    const watched: WatchedVersion = {
      calls: (metricName, statistic) => newVersionMetric(alias, metricName, statistic),
      requests: (outcome) => brokerMetrics(environment.name)('Requests', { outcome, version }),
    };
    const period = Duration.minutes(1);
    const alarms = createAlarms(new Construct(this, 'Alarms'), environment, NEW_VERSION_ALARMS, watched, period);
    const { role, policy } = this.#serviceRole(name);
    const group = new LambdaDeploymentGroup(this, 'Group', {
      application: new LambdaApplication(this, 'Application', { applicationName: name }),
      deploymentGroupName: name,
      alias,
      deploymentConfig: new LambdaDeploymentConfig(this, 'Config', {
        trafficRouting: new TimeBasedCanaryTrafficRouting({ percentage: percent, interval: Duration.minutes(minutes) }),
      }),
      // The CDK would attach a managed policy that reaches every function and every bucket.
      role: role.withoutPolicyUpdates(),
      alarms: [...alarms],
      autoRollback: { failedDeployment: true, stoppedDeployment: true, deploymentInAlarm: alarms.length > 0 },
    });
    group.node.addDependency(policy);
    // A broker that is turned off answers no request, but its deployment must succeed.
    if (environment.reservedConcurrency === 0) return;
    group.addPreHook(check.hook);
    policy.addStatements(new PolicyStatement({ actions: ['lambda:InvokeFunction'], resources: [check.hookArn] }));
    // CloudFormation starts the deployment when it updates this alias, so `next` and the check must be updated before.
    alias.node.defaultChild?.node.addDependency(check);
  }

  /** @see https://docs.aws.amazon.com/codedeploy/latest/userguide/security_confused_deputy.html */
  #serviceRole(name: string): { readonly role: Role; readonly policy: Policy } {
    const stack = Stack.of(this);
    const arn = (service: string, resource: string) => stack.formatArn({ service, resource });
    const role = new Role(this, 'Role', {
      description: `Lets CodeDeploy move the alias of ${name}`,
      assumedBy: new ServicePrincipal('codedeploy.amazonaws.com', {
        conditions: {
          StringEquals: { 'aws:SourceAccount': stack.account },
          ArnEquals: { 'aws:SourceArn': arn('codedeploy', `deploymentgroup:${name}/${name}`) },
        },
      }),
    });
    const tokenFunction = arn('lambda', `function:${name}`);
    const policy = new Policy(this, 'Policy', {
      roles: [role],
      statements: [
        new PolicyStatement({
          actions: ['lambda:GetAlias', 'lambda:GetProvisionedConcurrencyConfig', 'lambda:UpdateAlias'],
          resources: [tokenFunction, `${tokenFunction}:${ALIAS}`],
        }),
        // CodeDeploy chooses the form of its queries.
        new PolicyStatement({ actions: ['cloudwatch:DescribeAlarms'], resources: [arn('cloudwatch', 'alarm:*')] }),
      ],
    });
    return { role, policy };
  }
}

interface ReleaseCheckProps {
  readonly environment: Environment;
  /** The version of the token function that this deployment creates. */
  readonly version: IVersion;
  readonly secrets: ClientSecrets;
}

/**
 * Calls a new version of the token function before a caller does, through an alias and a URL that only its role may
 * call. No role may bypass the URL. Health cannot check it, because its function is updated after the callers' URL.
 */
export class ReleaseCheck extends Construct {
  /** The role that sends the requests of the check. */
  readonly role: IRole;
  readonly hook: IFunction;
  /** The ARN of `hook` as a string. A reference would be circular: hook, deployment group, policy, hook. */
  readonly hookArn: string;

  constructor(scope: Construct, id: string, { environment, version, secrets }: ReleaseCheckProps) {
    super(scope, id);
    const { name, services } = environment;
    const next = new Alias(this, 'Alias', { aliasName: NEXT_ALIAS, version });
    const variables: ReleaseCheckVariables = {
      TOKEN_BROKER_ENVIRONMENT: name,
      TOKEN_BROKER_URL: next.addFunctionUrl({ authType: FunctionUrlAuthType.AWS_IAM }).url,
      TOKEN_BROKER_RULES_DIGEST: rulesDigest(environment),
      TOKEN_BROKER_SERVICES: Object.keys(services).join(' '),
    };
    const { lambdaFunction, role } = createLambdaFunction(this, {
      functionName: releaseCheckName(name),
      description: `Asks a new version of the token function of environment ${name} before a caller does`,
      entry: 'release-check.ts',
      memorySize: 256,
      timeout: Duration.minutes(2),
      environment,
      variables: { ...variables },
      key: secrets.key,
    });
    allowUrlCalls(role, next);
    secrets.allowListing(role);
    this.role = role;
    this.hook = lambdaFunction;
    this.hookArn = Stack.of(this).formatArn({ service: 'lambda', resource: `function:${releaseCheckName(name)}` });
  }
}
