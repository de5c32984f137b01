import { Duration } from 'aws-cdk-lib';
import { type IWidget, MathExpression, Metric } from 'aws-cdk-lib/aws-cloudwatch';
import type { ILogGroup } from 'aws-cdk-lib/aws-logs';
import { graphs, heading } from './dashboard-graph.ts';
import type { CalledFunction } from './function-alarms.ts';
import { type BrokerMetric, IGNORED_EVENTS } from './metrics.ts';

interface Source {
  readonly metric: BrokerMetric;
  readonly called: CalledFunction;
  readonly log: ILogGroup;
  readonly tableName: string;
  readonly healthMinutes: number;
}

/** What lies behind every service: the function, health, and what it all is paid for. */
export function brokerRows({ metric, called, log, tableName, healthMinutes }: Source): readonly (readonly IWidget[])[] {
  const ofRuns = (name: string, label: string) => metric(name, {}, { label, statistic: 'Maximum' });
  const ofTable = (metricName: string, label: string) =>
    new Metric({
      namespace: 'AWS/DynamoDB',
      metricName,
      dimensionsMap: { TableName: tableName },
      statistic: 'Sum',
      label,
    });
  const duration = (statistic: string) => called.metricDuration({ statistic, label: statistic });

  return [
    [
      heading(
        'Is it the broker itself?',
        'Errors and throttles must be none. A slow function with fast services waits for DynamoDB or Secrets Manager.',
      ),
    ],
    graphs(
      {
        title: 'Errors and throttles of the token function',
        left: [called.metricErrors({ label: 'errors' }), called.metricThrottles({ label: 'throttles' })],
        unit: 'calls in 5 minutes',
      },
      { title: 'How long a call takes', left: [duration('p50'), duration('p99'), duration('Maximum')], unit: 'ms' },
      {
        title: 'Calls at a time',
        left: [called.metric('ConcurrentExecutions', { statistic: 'Maximum', label: 'at most' })],
        unit: 'calls',
      },
      {
        title: 'Without the shared cache or Secrets Manager',
        left: [
          metric('SharedCacheUnavailable', {}, { label: 'shared cache unavailable' }),
          metric('SecretStale', {}, { label: 'last known credential' }),
        ],
        unit: 'requests in 5 minutes',
      },
    ),
    [
      heading(
        'Are the credentials proven?',
        'One run of health an interval; a run that is missing or incomplete proves nothing.',
      ),
    ],
    graphs(
      {
        title: 'Runs of health, latched pairs and incidents',
        left: [
          ofRuns('Heartbeat', 'a run has ended'),
          ofRuns('PairsRejected', 'latched pairs'),
          ofRuns('ServiceIncidents', 'services in an incident'),
          ofRuns('ProbeNotDenied', 'the probe was not refused'),
        ],
        unit: 'in a run',
        minutes: healthMinutes,
      },
      {
        title: 'Pairs of a run',
        left: [
          ofRuns('PairsChecked', 'checked'),
          ofRuns('PairsNotReached', 'not reached'),
          ofRuns('PairsFailed', 'no finding of the broker'),
        ],
        unit: 'pairs',
        minutes: healthMinutes,
      },
      {
        title: 'Messages to the operators',
        left: [
          metric('Notifications', {}, { label: 'sent' }),
          metric('NotificationFailures', {}, { label: 'not sent' }),
          ...IGNORED_EVENTS.map((outcome) =>
            metric('IgnoredEvents', { outcome }, { label: `event ignored: ${outcome}` }),
          ),
        ],
        unit: 'messages',
        minutes: healthMinutes,
      },
      { title: 'How long a run takes', left: [ofRuns('RunDuration', 'longest')], unit: 'ms', minutes: healthMinutes },
    ),
    [
      heading(
        'What is paid for?',
        'Calls and their time, reads and writes of the table, log; docs/scale.md has the prices.',
      ),
    ],
    graphs(
      {
        title: 'Calls of the token function',
        left: [called.metric('Invocations', { statistic: 'Sum', label: 'calls' })],
        unit: 'calls an hour',
        minutes: 60,
      },
      {
        title: 'Time that is billed',
        left: [
          new MathExpression({
            label: 'seconds',
            expression: 'duration / 1000',
            usingMetrics: { duration: called.metricDuration({ statistic: 'Sum' }) },
            period: Duration.hours(1),
          }),
        ],
        unit: 'seconds an hour',
        minutes: 60,
      },
      {
        title: 'Table of pairs',
        left: [
          ofTable('ConsumedReadCapacityUnits', 'read units'),
          ofTable('ConsumedWriteCapacityUnits', 'write units'),
        ],
        unit: 'units an hour',
        minutes: 60,
      },
      {
        title: 'Log of the token function',
        left: [
          new Metric({
            namespace: 'AWS/Logs',
            metricName: 'IncomingBytes',
            dimensionsMap: { LogGroupName: log.logGroupName },
            statistic: 'Sum',
            label: 'bytes',
          }),
        ],
        unit: 'bytes an hour',
        minutes: 60,
      },
    ),
  ];
}
