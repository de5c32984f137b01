import { App, Stack } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import { Key } from 'aws-cdk-lib/aws-kms';
import { Code, Function as LambdaFunction, Runtime } from 'aws-cdk-lib/aws-lambda';
import { LogGroup } from 'aws-cdk-lib/aws-logs';
import { Queue } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import { createNewVersionAlarms, createTrailAlarms, Monitoring } from '../../lib/monitoring/monitoring.ts';
import { OperatorTopic } from '../../lib/monitoring/operator-topic.ts';
import { parseEnvironment } from '../../lib/settings/environment.ts';
import { exampleForm } from '../unit/settings/example-form.ts';
import type { Synthesised } from './synthesise.ts';

/** What watches an environment, around a function that does nothing: quicker than the whole stack. */
export function synthesiseMonitoring(changes: object = {}): Pick<Synthesised, 'template'> {
  const environment = parseEnvironment('test', { ...exampleForm(), ...changes });
  const stack = new Stack(new App({ analyticsReporting: false }), 'Monitored', {
    env: { account: environment.account, region: environment.region },
  });
  const key = new Key(stack, 'Key');
  const tokenFunction = new LambdaFunction(stack, 'Function', {
    functionName: `token-broker-${environment.name}`,
    runtime: Runtime.NODEJS_24_X,
    handler: 'index.handler',
    code: Code.fromInline('exports.handler = () => {}'),
    logGroup: new LogGroup(stack, 'Log'),
  });
  const alias = tokenFunction.addAlias('live');
  const operators = new OperatorTopic(stack, 'OperatorTopic', { environment: environment.name, key, notify: [] });
  new Monitoring(stack, 'Monitoring', {
    environment,
    called: alias,
    log: tokenFunction.logGroup,
    failedEvents: new Queue(stack, 'Queue'),
    operators,
  });
  createNewVersionAlarms(new Construct(stack, 'NewVersionAlarms'), environment, alias);
  createTrailAlarms(new Construct(stack, 'TrailAlarms'), environment, operators);
  return { template: JSON.parse(JSON.stringify(Template.fromStack(stack).toJSON())) };
}
