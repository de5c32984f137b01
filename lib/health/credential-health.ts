import { Duration, Lazy, Stack } from 'aws-cdk-lib';
import { Match, Rule } from 'aws-cdk-lib/aws-events';
import { LambdaFunction as EventTarget } from 'aws-cdk-lib/aws-events-targets';
import { ArnPrincipal, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import type { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda';
import { Schedule, ScheduleExpression } from 'aws-cdk-lib/aws-scheduler';
import { LambdaInvoke } from 'aws-cdk-lib/aws-scheduler-targets';
import { Construct } from 'constructs';
import type { HealthVariables } from '../../functions/variables.ts';
import { allow } from '../data/allow.ts';
import type { ClientSecrets } from '../data/client-secrets.ts';
import type { PairTable } from '../data/pair-table.ts';
import type { OperatorTopic } from '../monitoring/operator-topic.ts';
import { healthFunctionName } from '../settings/names.ts';
import { type Environment, rateSeconds } from '../settings/settings.ts';
import { createLambdaFunction } from '../token/lambda-function.ts';
import type { TokenEndpoint } from '../token/token-endpoint.ts';
import type { FailedEvents } from './failed-events.ts';

interface CredentialHealthProps {
  readonly environment: Environment;
  readonly secrets: ClientSecrets;
  readonly pairs: PairTable;
  readonly endpoint: TokenEndpoint;
  readonly operators: OperatorTopic;
  readonly failedEvents: FailedEvents;
}

/**
 * Proves on a schedule that every credential works and that a role without an access rule is refused. Checks a client's
 * new credential as soon as it becomes current, so that callers never notice the change.
 */
export class CredentialHealth extends Construct {
  constructor(scope: Construct, id: string, props: CredentialHealthProps) {
    super(scope, id);
    const { environment, secrets, pairs, endpoint, operators } = props;
    const { services, health, healthConcurrency } = environment;
    const names = Object.keys(services);
    const singleTokenNames = names.filter((service) => services[service]?.singleActiveToken);
    const variables: HealthVariables = {
      TOKEN_BROKER_ENVIRONMENT: environment.name,
      TOKEN_BROKER_URL: endpoint.url,
      TOKEN_BROKER_TABLE: pairs.tableName,
      TOKEN_BROKER_SERVICES: names.join(' '),
      TOKEN_BROKER_SINGLE_TOKEN_SERVICES: singleTokenNames.join(' ') || '-',
      TOKEN_BROKER_TOPIC: operators.topic.topicArn,
      TOKEN_BROKER_SUBSCRIBERS: `${Math.max(1, health.notify.length)}`,
      TOKEN_BROKER_PROBE_ROLE: Lazy.string({ produce: () => probe.roleArn }),
      TOKEN_BROKER_HEALTH_INTERVAL_SECONDS: `${rateSeconds(health.every)}`,
    };
    const name = healthFunctionName(environment.name);
    const { lambdaFunction, role } = createLambdaFunction(this, {
      functionName: name,
      description: `Proves the credentials of environment ${environment.name}`,
      entry: 'health.ts',
      memorySize: 256,
      timeout: Duration.minutes(12),
      environment,
      variables: { ...variables },
      key: secrets.key,
      onFailure: props.failedEvents,
      // Applies to runs and to events of secrets. An event takes 130 s at most. Lambda repeats it after one and after
      // two minutes, within maxEventAge. A run that timed out is older, so the next run replaces it. A run that failed
      // at once, because it could not list secrets, is repeated.
      retryAttempts: 2,
      maxEventAge: Duration.minutes(10),
      // Each event of a secret takes a concurrent execution. Events above the limit wait.
      ...(healthConcurrency !== 'none' && { reservedConcurrentExecutions: healthConcurrency }),
    });
    endpoint.allowChecks(role);
    secrets.allowListing(role);
    secrets.allowDescribing(role);
    pairs.allowRemembering(role);
    operators.allowPublishing(role);

    const probe = new Role(this, 'Probe', {
      description: `May call the token broker of environment ${environment.name}, which must refuse it`,
      assumedBy: new ArnPrincipal(role.roleArn),
    });
    endpoint.allowProbe(probe);
    allow(role, ['sts:AssumeRole'], probe.roleArn);

    const schedulerRole = this.#schedulerRole(lambdaFunction);
    const schedule = new Schedule(this, 'Schedule', {
      scheduleName: name,
      description: `Proves the credentials of environment ${environment.name}`,
      schedule: ScheduleExpression.expression(health.every),
      target: new LambdaInvoke(lambdaFunction, {
        role: schedulerRole.withoutPolicyUpdates(),
        // Retries once, for a short throttle. The maximum age keeps the retry from overlapping the next run.
        retryAttempts: 1,
        maxEventAge: Duration.minutes(5),
      }),
    });
    // The first run starts at once and needs the policy of the role.
    schedule.node.addDependency(schedulerRole);

    new Rule(this, 'Rule', {
      description: `A client secret of environment ${environment.name} has a new current version`,
      eventPattern: {
        account: [Stack.of(this).account],
        source: ['aws.secretsmanager'],
        detailType: ['Secret Label Updated'],
        detail: { name: Match.prefix(secrets.namePrefix), labelUpdated: ['AWSCURRENT'] },
      },
      // Within an hour, traffic or a run finds the new version.
      targets: [new EventTarget(lambdaFunction, { retryAttempts: 2, maxEventAge: Duration.hours(1) })],
    });
  }

  /** Replaces the CDK's role, which may also invoke every version of the function. */
  #schedulerRole({ functionArn }: LambdaFunction): Role {
    const stack = Stack.of(this);
    const group = stack.formatArn({ service: 'scheduler', resource: 'schedule-group', resourceName: 'default' });
    const role = new Role(this, 'SchedulerRole', {
      assumedBy: new ServicePrincipal('scheduler.amazonaws.com', {
        conditions: { StringEquals: { 'aws:SourceAccount': stack.account, 'aws:SourceArn': group } },
      }),
    });
    allow(role, ['lambda:InvokeFunction'], functionArn);
    return role;
  }
}
