import { describe, expect, it } from 'vitest';
import { createHealthLog } from '../../functions/aws/health-log.ts';
import { changed, exampleForm } from './example-form.ts';
import { resourceOf, resourcesOf, synthesise } from './synthesise.ts';

const stack = synthesise('test', changed(exampleForm(), 'health', { every: 'rate(30 minutes)' }));
const alarms = resourcesOf(stack, 'AWS::CloudWatch::Alarm').map(({ Properties }) => Properties);

describe('the alarms of health', () => {
  it('tell that no run ended for twice as long as there is between two', () => {
    expect(alarmCalled('token-broker-health-silent-test')).toMatchObject({
      Namespace: 'TokenBroker',
      MetricName: 'Heartbeat',
      Statistic: 'Sum',
      Period: 1_800,
      EvaluationPeriods: 2,
      ComparisonOperator: 'LessThanThreshold',
      Threshold: 1,
      TreatMissingData: 'breaching',
    });
  });

  it.each(['rate(15 minutes)', 'rate(59 minutes)', 'rate(1 hour)', 'rate(1 day)'])(
    'look back no further than CloudWatch can, with %s',
    (every) => {
      const form = changed(exampleForm(), 'health', { every });
      for (const { Properties } of resourcesOf(synthesise('test', form), 'AWS::CloudWatch::Alarm')) {
        const { Period, EvaluationPeriods } = Properties;
        expect(Period % 60).toBe(0);
        expect(Period * EvaluationPeriods).toBeLessThanOrEqual(Period < 3_600 ? 86_400 : 604_800);
      }
    },
  );

  it('tell that a role without an access rule was not refused', () => {
    expect(alarmCalled('token-broker-probe-not-denied-test')).toMatchObject({
      Namespace: 'TokenBroker',
      MetricName: 'ProbeNotDenied',
      Statistic: 'Sum',
      ComparisonOperator: 'GreaterThanThreshold',
      Threshold: 0,
    });
  });

  it('look at metrics that a run of health writes, under the same dimensions', () => {
    const lines: string[] = [];
    const log = createHealthLog({ environment: 'test', now: () => 0, write: (line) => lines.push(line) });
    log.run({
      clients: 0,
      checked: [],
      missed: [],
      ignored: [],
      unknown: [],
      incidents: [],
      probe: { condition: 'denied', said: 'access-denied' },
      reported: { sent: 0, unsent: 0, failures: [] },
      milliseconds: 0,
    });
    const { _aws, ...line } = JSON.parse(lines.join(''));
    const ofHealth = alarms.filter(({ Namespace }) => Namespace === 'TokenBroker');
    expect(ofHealth).toHaveLength(2);
    for (const { Dimensions, MetricName } of ofHealth) {
      expect(_aws.CloudWatchMetrics[0].Dimensions).toContainEqual(Dimensions.map(({ Name }: Dimension) => Name));
      for (const { Name, Value } of Dimensions) expect(line[Name]).toBe(Value);
      expect(line).toHaveProperty(MetricName);
    }
  });
});

describe('the alarm of the queue', () => {
  it('tells that a function has failed for good', () => {
    const queue = resourceOf(stack, 'FailedEvents', 'AWS::SQS::Queue');
    expect(alarmCalled('token-broker-failed-events-test')).toMatchObject({
      Namespace: 'AWS/SQS',
      MetricName: 'ApproximateNumberOfMessagesVisible',
      Dimensions: [{ Name: 'QueueName', Value: { 'Fn::GetAtt': [queue.id, 'QueueName'] } }],
      ComparisonOperator: 'GreaterThanThreshold',
      Threshold: 0,
    });
  });
});

it('sends every alarm to the operators, and its end', () => {
  const topic = { Ref: resourceOf(stack, 'OperatorTopic', 'AWS::SNS::Topic').id };
  for (const alarm of alarms) {
    expect(alarm).toMatchObject({ AlarmActions: [topic], OKActions: [topic] });
    expect(alarm.AlarmDescription.length).toBeLessThanOrEqual(1_024);
  }
});

interface Dimension {
  readonly Name: string;
}

function alarmCalled(name: string) {
  return alarms.find(({ AlarmName }) => AlarmName === name);
}
