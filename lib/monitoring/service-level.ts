import { Duration } from 'aws-cdk-lib';
import {
  Alarm,
  AlarmRule,
  AlarmState,
  ComparisonOperator,
  CompositeAlarm,
  MathExpression,
  SingleValueWidget,
  TreatMissingData,
} from 'aws-cdk-lib/aws-cloudwatch';
import { Construct } from 'constructs';
import type { BrokerMetric, CalledFunction } from './metrics.ts';

interface ServiceLevelProps {
  readonly environment: string;
  /** The percentage of calls that must bring a token in time. */
  readonly answered: number;
  readonly broker: BrokerMetric;
  readonly called: CalledFunction;
}

/**
 * Creates the alarm on a service level, and a tile with the budget that is left in the time of the dashboard. The alarm
 * rings when misses use up the budget of a month too fast, over a long window and still over a short window.
 *
 * @see https://sre.google/workbook/alerting-on-slos/
 */
export function createServiceLevel(parent: Construct, { environment, answered, broker, called }: ServiceLevelProps) {
  const scope = new Construct(parent, 'ServiceLevel');

  /** Fills in `calls` and `missed / calls`, a percentage. Errors and throttles of Lambda write no line. */
  const percentOfCalls = (expression: string, minutes: number, label: string) => {
    const sum = (counted: string) => `(FILL(${counted}, 0) + FILL(errors, 0) + FILL(throttles, 0))`;
    return new MathExpression({
      label,
      expression: expression
        .replaceAll('missed / calls', `100 * ${sum('late')} / ${sum('all')}`)
        .replace('calls', sum('all')),
      usingMetrics: {
        all: broker('SloCalls'),
        late: broker('SloMissed'),
        errors: called.metricErrors(),
        throttles: called.metricThrottles(),
      },
      period: Duration.minutes(minutes),
    });
  };

  /** An alarm without an action, on a rate of misses `times` as fast as the budget allows. */
  const burnAlarm = ({ minutes, times, atLeast }: Burn) =>
    new Alarm(scope, `In${minutes}Minutes`, {
      alarmName: `token-broker-service-level-${minutes}m-${environment}`,
      alarmDescription: `Calls miss the service level ${times} times as often as its budget allows, over ${minutes} minutes.`,
      // Without the first condition, a single miss at night would be a rate of 100 percent.
      metric: percentOfCalls(`IF(calls >= ${atLeast}, missed / calls, 0)`, minutes, 'Percent of misses'),
      threshold: rounded(times * (100 - answered)),
      comparisonOperator: ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
      evaluationPeriods: 1,
      treatMissingData: TreatMissingData.NOT_BREACHING,
    });

  const bothRing = (...pair: readonly Burn[]) =>
    AlarmRule.allOf(...pair.map((burn) => AlarmRule.fromAlarm(burnAlarm(burn), AlarmState.ALARM)));
  const alarm = new CompositeAlarm(scope, 'Alarm', {
    compositeAlarmName: `token-broker-service-level-${environment}`,
    alarmDescription:
      'Calls for a token fail or are late so often that the budget of the service level will not last. Find the outcome that grows on the dashboard, and follow the alarm that rings beside this one: "The service level" (docs/alarms.md).',
    alarmRule: AlarmRule.anyOf(
      bothRing({ minutes: 60, times: 14.4, atLeast: 50 }, { minutes: 5, times: 14.4, atLeast: 1 }),
      bothRing({ minutes: 360, times: 6, atLeast: 50 }, { minutes: 30, times: 6, atLeast: 1 }),
    ),
  });
  const tile = new SingleValueWidget({
    title: `Budget left of the service level, ${answered} %`,
    metrics: [percentOfCalls(`100 - missed / calls * ${rounded(100 / (100 - answered))}`, 5, '% left')],
    setPeriodToTimeRange: true,
    width: 24,
    height: 3,
  });
  return { alarm, tile };
}

interface Burn {
  readonly minutes: number;
  /** How many times as fast as the budget allows. */
  readonly times: number;
  /** Below this number of calls, a percentage has no meaning. */
  readonly atLeast: number;
}

function rounded(value: number): number {
  return Math.round(value * 1e6) / 1e6;
}
