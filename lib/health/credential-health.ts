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
import { createLambdaFunction, type Observability } from '../token/lambda-function.ts';
import type { TokenEndpoint } from '../token/token-endpoint.ts';
import type { FailedEvents } from './failed-events.ts';

interface CredentialHealthProps {
  readonly environment: string;
  /** A rate such as `rate(1 hour)`. */
  readonly every: string;
  readonly services: Environment['services'];
  /** How many changed secrets are checked at the same time. */
  readonly concurrency: Environment['healthConcurrency'];
  readonly secrets: ClientSecrets;
  readonly pairs: PairTable;
  readonly endpoint: TokenEndpoint;
  readonly operators: OperatorTopic;
  readonly failedEvents: FailedEvents;
  readonly observability: Observability;
}

/**
 * Proves on a schedule that every credential works, and that a role without an access rule is refused; and checks a
 * client's new credential as soon as it is put into use, so that callers never notice that it changed.
 */
export class CredentialHealth extends Construct {
  constructor(scope: Construct, id: string, props: CredentialHealthProps) {
    super(scope, id);
    const { environment, every, services, concurrency, secrets, pairs, endpoint, operators } = props;
    const names = Object.keys(services);
    const singleTokenNames = names.filter((service) => services[service]?.singleActiveToken);
    const variables: HealthVariables = {
      TOKEN_BROKER_ENVIRONMENT: environment,
      TOKEN_BROKER_URL: endpoint.url,
      TOKEN_BROKER_TABLE: pairs.tableName,
      TOKEN_BROKER_SERVICES: names.join(' '),
      TOKEN_BROKER_SINGLE_TOKEN_SERVICES: singleTokenNames.join(' ') || '-',
      TOKEN_BROKER_TOPIC: operators.topic.topicArn,
      TOKEN_BROKER_PROBE_ROLE: Lazy.string({ produce: () => probe.roleArn }),
      TOKEN_BROKER_HEALTH_INTERVAL_SECONDS: `${rateSeconds(every)}`,
    };
    const name = healthFunctionName(environment);
    const { lambdaFunction, role } = createLambdaFunction(this, {
      functionName: name,
      description: `Proves the credentials of environment ${environment}`,
      entry: 'health.ts',
      memorySize: 256,
      timeout: Duration.minutes(12),
      environment: { ...variables },
      observability: props.observability,
      onFailure: props.failedEvents,
      // Lambda has one setting for runs and for events of secrets. An event takes 70 s at most, and Lambda repeats it after
      // one and after two minutes: within ten. A run that used up its time is older than that, so the next run takes its
      // place; a run that failed at once, because it could list nothing, is repeated.
      retryAttempts: 2,
      maxEventAge: Duration.minutes(10),
      // Each event of a secret starts it once; further events wait.
      ...(concurrency !== 'none' && { reservedConcurrentExecutions: concurrency }),
    });
    endpoint.allowChecks(role);
    secrets.allowListing(role);
    secrets.allowDescribing(role);
    pairs.allowRemembering(role);
    operators.allowPublishing(role);

    const probe = new Role(this, 'Probe', {
      description: `May call the token broker of environment ${environment}, which must refuse it`,
      assumedBy: new ArnPrincipal(role.roleArn),
    });
    endpoint.allowProbe(probe);
    allow(role, ['sts:AssumeRole'], probe.roleArn);

    const schedulerRole = this.#schedulerRole(lambdaFunction);
    const schedule = new Schedule(this, 'Schedule', {
      scheduleName: name,
      description: `Proves the credentials of environment ${environment}`,
      schedule: ScheduleExpression.expression(every),
      target: new LambdaInvoke(lambdaFunction, {
        role: schedulerRole.withoutPolicyUpdates(),
        // Lambda may be busy for a moment; a second try may not meet the next run.
        retryAttempts: 1,
        maxEventAge: Duration.minutes(5),
      }),
    });
    // Its first run comes at once, and would be denied without the policy of the role.
    schedule.node.addDependency(schedulerRole);

    new Rule(this, 'Rule', {
      description: `A client secret of environment ${environment} has a new current version`,
      eventPattern: {
        account: [Stack.of(this).account],
        source: ['aws.secretsmanager'],
        detailType: ['Secret Label Updated'],
        detail: { name: Match.prefix(secrets.namePrefix), labelUpdated: ['AWSCURRENT'] },
      },
      // After an hour traffic or a run has found the new version.
      targets: [new EventTarget(lambdaFunction, { retryAttempts: 2, maxEventAge: Duration.hours(1) })],
    });
  }

  /** Made here, because the CDK's own may invoke every version of the function too. */
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
