import { Duration } from 'aws-cdk-lib';
import {
  Alarm,
  AlarmStatusWidget,
  ComparisonOperator,
  Dashboard,
  GraphWidget,
  type IMetric,
  type IWidget,
  LegendPosition,
  MathExpression,
  TextWidget,
  TreatMissingData,
} from 'aws-cdk-lib/aws-cloudwatch';
import type { IQueue } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import { functionName } from '../settings/names.ts';
import { type Environment, rateSeconds } from '../settings/settings.ts';
import { ALARMS, type AlarmDefinition } from './alarms.ts';
import { dashboardRows, type Row } from './dashboard.ts';
import { brokerMetrics, type CalledFunction } from './metrics.ts';
import type { OperatorTopic } from './operator-topic.ts';
import { createServiceLevel } from './service-level.ts';

interface MonitoringProps {
  readonly environment: Environment;
  readonly called: CalledFunction;
  /** The queue of events whose handling failed after all retries. */
  readonly failedEvents: IQueue;
  readonly operators: OperatorTopic;
}

/** The alarms that notify the operators, and the dashboard that helps to find the cause. */
export class Monitoring extends Construct {
  /** Opens the dashboard in the console. */
  readonly dashboardUrl: string;

  constructor(scope: Construct, id: string, { environment, called, failedEvents, operators }: MonitoringProps) {
    super(scope, id);
    const { name, region, services, health } = environment;
    const broker = brokerMetrics(name);
    const watched = { called, broker, failedEvents };
    const alarms = createAlarms(new Construct(this, 'Alarms'), environment, ALARMS, watched);
    const { slo } = environment;
    const level = slo && createServiceLevel(this, { environment: name, ...slo, broker, called });
    const ringing = [...alarms, ...(level ? [level.alarm] : [])];
    for (const alarm of ringing) operators.notifyOf(alarm);

    // Names of dashboards are unique in an account, across its regions.
    const dashboardName = `${functionName(name)}-${region}`;
    const dashboard = new Dashboard(new Construct(this, 'Dashboard'), 'Dashboard', {
      dashboardName,
      defaultInterval: Duration.hours(3),
    });
    const title = `Token broker ${name}, ${region}: what rings`;
    dashboard.addWidgets(new AlarmStatusWidget({ title, alarms: ringing, width: FULL_WIDTH, height: 4 }));
    if (level) dashboard.addWidgets(level.tile);
    const shown = { services: Object.keys(services), broker, called, healthMinutes: rateSeconds(health.every) / 60 };
    for (const row of dashboardRows(shown)) dashboard.addWidgets(...widgetsOf(row));
    this.dashboardUrl = `https://${consoleOf(region)}/cloudwatch/home?region=${region}#dashboards/dashboard/${dashboardName}`;
  }
}

/** Creates the alarms that the settings do not switch off. `ofTraffic` is the period for traffic. */
export function createAlarms<Watched>(
  scope: Construct,
  environment: Environment,
  definitions: Readonly<Record<string, AlarmDefinition<Watched>>>,
  watched: Watched,
  ofTraffic = Duration.minutes(5),
): readonly Alarm[] {
  const interval = Duration.seconds(rateSeconds(environment.health.every));
  // A call that takes longer is slow because of the broker, not because of a service.
  const longestRequestMs = Math.max(...Object.values(environment.services).map((service) => service.requestTimeoutMs));
  return Object.entries(definitions)
    .filter(([name]) => !environment.alarms.off.includes(name))
    .map(([name, definition]) => {
      const { threshold = 1, of = 'traffic', bad: [count, periods] = [1, 1], means, act } = definition;
      const capitalised = name.split('-').map((word) => `${word.charAt(0).toUpperCase()}${word.slice(1)}`);
      return new Alarm(scope, capitalised.join(''), {
        alarmName: `token-broker-${name}-${environment.name}`,
        alarmDescription: `${means} ${act}`,
        metric: watchedMetric(definition, watched, of === 'traffic' ? ofTraffic : interval),
        threshold: typeof threshold === 'number' ? threshold : longestRequestMs + threshold.msBeyondServices,
        comparisonOperator:
          ComparisonOperator[of === 'silence' ? 'LESS_THAN_THRESHOLD' : 'GREATER_THAN_OR_EQUAL_TO_THRESHOLD'],
        evaluationPeriods: periods,
        datapointsToAlarm: count,
        treatMissingData: MISSING[of],
      });
    });
}

function watchedMetric<Watched>(
  { watch, shareOf, of }: AlarmDefinition<Watched>,
  watched: Watched,
  period: Duration,
): IMetric {
  const metric = watch(watched);
  if (shareOf !== undefined) {
    return new MathExpression({
      label: 'Percent of the calls that end in a 4xx',
      expression: `IF(FILL(requests, 0) >= ${shareOf.atLeast}, 100 * refused / requests, 0)`,
      usingMetrics: { refused: metric, requests: shareOf.whole(watched) },
      period,
    });
  }
  // Values may arrive five minutes late. CloudWatch would evaluate a shorter filled period as empty, and only once.
  if (of === 'run' || period.toMinutes() < 5) return metric.with({ period });
  // Without FILL, CloudWatch uses older values, so an alarm would ring again after its cause, or late for silence.
  return new MathExpression({ expression: 'FILL(found, 0)', usingMetrics: { found: metric }, period });
}

/** Missing data means that traffic is fine. An alarm on runs keeps the state of the last run. */
const MISSING = {
  traffic: TreatMissingData.NOT_BREACHING,
  run: TreatMissingData.IGNORE,
  // Rings before the first run too, because a schedule may never have worked.
  silence: TreatMissingData.BREACHING,
} as const;

const FULL_WIDTH = 24;

function widgetsOf(row: Row): readonly IWidget[] {
  if ('question' in row) {
    return [new TextWidget({ markdown: `## ${row.question}\n${row.hint}`, width: FULL_WIDTH, height: 2 })];
  }
  const width = FULL_WIDTH / row.length;
  return row.map(({ title, left, unit, percent, minutes = 5, stacked = false }) => {
    return new GraphWidget({
      title,
      left: [...left],
      leftYAxis: { min: 0, label: unit, showUnits: false },
      ...(percent && { right: [percent], rightYAxis: { min: 0, max: 100, label: '%', showUnits: false } }),
      stacked,
      period: Duration.minutes(minutes),
      legendPosition: LegendPosition.BOTTOM,
      width,
      height: 6,
    });
  });
}

function consoleOf(region: string): string {
  return region.startsWith('cn-') ? `${region}.console.amazonaws.cn` : `${region}.console.aws.amazon.com`;
}
