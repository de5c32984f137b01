import { Duration, Stack } from 'aws-cdk-lib';
import { Match, Rule } from 'aws-cdk-lib/aws-events';
import { LambdaFunction } from 'aws-cdk-lib/aws-events-targets';
import { Construct } from 'constructs';
import type { RotationEnvironment } from '../functions/environment.ts';
import type { ClientSecrets } from './client-secrets.ts';
import type { FailedEvents } from './failed-events.ts';
import { createLambdaFunction, type Observation } from './lambda-function.ts';
import type { OperatorTopic } from './operator-topic.ts';
import type { PairTable } from './pair-table.ts';
import type { TokenEndpoint } from './token-endpoint.ts';

interface RotationProps {
  readonly environment: string;
  readonly services: readonly string[];
  readonly secrets: ClientSecrets;
  readonly pairs: PairTable;
  readonly endpoint: TokenEndpoint;
  readonly operators: OperatorTopic;
  readonly failedEvents: FailedEvents;
  readonly observation: Observation;
}

/** Checks a client's new credential as soon as it is put into use, so that callers never notice that it changed. */
export class Rotation extends Construct {
  constructor(scope: Construct, id: string, props: RotationProps) {
    super(scope, id);
    const { environment, services, secrets, pairs, endpoint, operators, failedEvents, observation } = props;
    const variables: RotationEnvironment = {
      TOKEN_BROKER_ENVIRONMENT: environment,
      TOKEN_BROKER_URL: endpoint.url,
      TOKEN_BROKER_TABLE: pairs.tableName,
      TOKEN_BROKER_SERVICES: services.join(' '),
      TOKEN_BROKER_TOPIC: operators.topic.topicArn,
    };
    const { lambdaFunction, role } = createLambdaFunction(this, {
      functionName: `token-broker-rotation-${environment}`,
      description: `Checks new credentials of environment ${environment} when they are put into use`,
      entry: 'rotation.ts',
      memorySize: 256,
      timeout: Duration.minutes(1),
      environment: { ...variables },
      observation,
      onFailure: failedEvents,
      // After an hour traffic has long found the new version by itself.
      retryAttempts: 2,
      maxEventAge: Duration.hours(1),
    });
    endpoint.allowChecks(role);
    secrets.allowDescribing(role);
    pairs.allowRemembering(role);
    operators.allowPublishing(role);

    new Rule(this, 'Rule', {
      description: `A client secret of environment ${environment} has a new current version`,
      eventPattern: {
        account: [Stack.of(this).account],
        source: ['aws.secretsmanager'],
        detailType: ['Secret Label Updated'],
        detail: { name: Match.prefix(secrets.namePrefix), labelUpdated: ['AWSCURRENT'] },
      },
      targets: [new LambdaFunction(lambdaFunction, { retryAttempts: 2, maxEventAge: Duration.hours(1) })],
    });
  }
}
