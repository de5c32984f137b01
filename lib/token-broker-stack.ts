import { CfnOutput, Stack, Tags } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import { ClientSecrets } from './client-secrets.ts';
import { CredentialHealth } from './credential-health.ts';
import { FailedEvents } from './failed-events.ts';
import { Monitoring } from './monitoring.ts';
import { OperatorTopic } from './operator-topic.ts';
import { PairTable } from './pair-table.ts';
import { Rotation } from './rotation.ts';
import { type Environment, toBrokerSettings } from './settings.ts';
import { TokenEndpoint } from './token-endpoint.ts';

interface TokenBrokerStackProps {
  readonly environment: Environment;
}

/** One environment of the token broker. */
export class TokenBrokerStack extends Stack {
  constructor(scope: Construct, id: string, { environment }: TokenBrokerStackProps) {
    super(scope, id, {
      env: { account: environment.account, region: environment.region },
      description: `Token broker, environment ${environment.name}`,
      // The URL that every caller knows is gone for good with the function.
      terminationProtection: true,
    });
    Tags.of(this).add('application', 'token-broker');
    Tags.of(this).add('environment', environment.name);

    const secrets = new ClientSecrets(this, 'ClientSecrets', { environment: environment.name });
    const pairs = new PairTable(this, 'PairTable', { environment: environment.name, key: secrets.key });
    const endpoint = new TokenEndpoint(this, 'TokenEndpoint', {
      environment: environment.name,
      tableName: pairs.tableName,
      settings: toBrokerSettings(environment),
    });
    secrets.allowReading(endpoint.role);
    pairs.allowSharing(endpoint.role);

    const operators = new OperatorTopic(this, 'OperatorTopic', {
      environment: environment.name,
      key: secrets.key,
      notify: environment.health.notify,
    });
    const failedEvents = new FailedEvents(this, 'FailedEvents', { key: secrets.key });
    const checking = {
      environment: environment.name,
      services: Object.keys(environment.services),
      secrets,
      pairs,
      endpoint,
      operators,
      failedEvents,
    };
    new CredentialHealth(this, 'CredentialHealth', { ...checking, every: environment.health.every });
    new Rotation(this, 'Rotation', checking);
    new Monitoring(this, 'Monitoring', {
      environment,
      called: endpoint.called,
      failedEvents: failedEvents.queue,
      operators,
    });

    new CfnOutput(this, 'Url', { value: endpoint.url, description: 'Where callers send their requests' });
    new CfnOutput(this, 'KeyArn', { value: secrets.key.keyArn, description: 'Encrypts the client secrets' });
    new CfnOutput(this, 'TopicArn', {
      value: operators.topic.topicArn,
      description: 'Tells the operators what to act on',
    });
  }
}
