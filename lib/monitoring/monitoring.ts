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
  LogQueryVisualizationType,
  LogQueryWidget,
  MathExpression,
  TextWidget,
  TreatMissingData,
} from 'aws-cdk-lib/aws-cloudwatch';
import type { Alias } from 'aws-cdk-lib/aws-lambda';
import type { ILogGroup } from 'aws-cdk-lib/aws-logs';
import type { IQueue } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import type { Environment } from '../settings/environment.ts';
import { rateSeconds } from '../settings/environment.ts';
import { functionName } from '../settings/names.ts';
import { ALARMS, type AlarmDefinition, NEW_VERSION_ALARMS, TRAIL_ALARMS } from './alarms.ts';
import { dashboardRows, type Row } from './dashboard.ts';
import { brokerMetrics, type CalledFunction, newVersionMetric, trailMetric } from './metrics.ts';
import type { OperatorTopic } from './operator-topic.ts';

interface MonitoringProps {
  readonly environment: Environment;
  readonly called: CalledFunction;
  /** Of the token function. */
  readonly log: ILogGroup;
  /** Where the events are that a function failed at for good. */
  readonly failedEvents: IQueue;
  readonly operators: OperatorTopic;
}

/** Tells the operators by an alarm what they must act on, and shows them on a dashboard what there is to see. */
export class Monitoring extends Construct {
  /** Opens the dashboard in the console. */
  readonly dashboardUrl: string;

  constructor(scope: Construct, id: string, { environment, called, log, failedEvents, operators }: MonitoringProps) {
    super(scope, id);
    const { name, region, services, health } = environment;
    const broker = brokerMetrics(name);
    const watched = { called, broker, failedEvents };
    const alarms = createAlarms(new Construct(this, 'Alarms'), environment, ALARMS, watched);
    for (const alarm of alarms) operators.tellOf(alarm);

    // An account has one list of dashboards for all its regions.
    const dashboardName = `${functionName(name)}-${region}`;
    const dashboard = new Dashboard(new Construct(this, 'Dashboard'), 'Dashboard', {
      dashboardName,
      defaultInterval: Duration.hours(3),
    });
    const title = `Token broker ${name}, ${region}: what rings`;
    dashboard.addWidgets(new AlarmStatusWidget({ title, alarms: [...alarms], width: FULL_WIDTH, height: 4 }));
    const { logGroupName } = log;
    for (const row of dashboardRows({
      services: Object.keys(services),
      broker,
      called,
      healthMinutes: rateSeconds(health.every) / 60,
    })) {
      dashboard.addWidgets(...widgetsOf(row, logGroupName));
    }
    this.dashboardUrl = `https://${consoleOf(region)}/cloudwatch/home?region=${region}#dashboards/dashboard/${dashboardName}`;
  }
}

/** What takes the newest version of an alias back while it has only a part of the traffic. */
export function createNewVersionAlarms(scope: Construct, environment: Environment, alias: Alias): readonly Alarm[] {
  const { version } = alias.version;
  const broker = brokerMetrics(environment.name);
  return createAlarms(scope, environment, NEW_VERSION_ALARMS, {
    calls: (metricName, statistic) => newVersionMetric(alias, metricName, statistic),
    requests: (outcome) => broker('Requests', { outcome, version }),
  });
}

/** What tells the operators of a record that there should not be in the trail. */
export function createTrailAlarms(scope: Construct, environment: Environment, operators: OperatorTopic): void {
  const records = (metricName: string) => trailMetric(environment.name, metricName);
  for (const alarm of createAlarms(scope, environment, TRAIL_ALARMS, { records })) operators.tellOf(alarm);
}

function createAlarms<Watched>(
  scope: Construct,
  environment: Environment,
  definitions: Readonly<Record<string, AlarmDefinition<Watched>>>,
  watched: Watched,
): readonly Alarm[] {
  return Object.entries(definitions)
    .filter(([name]) => !environment.alarms.off.includes(name))
    .map(([name, definition]) => createAlarm(scope, name, environment, definition, watched));
}

function createAlarm<Watched>(
  scope: Construct,
  name: string,
  environment: Environment,
  definition: AlarmDefinition<Watched>,
  watched: Watched,
): Alarm {
  const { threshold = 1, of = 'traffic', bad: [count, periods] = [1, 1], means, act } = definition;
  const capitalised = name.split('-').map((word) => `${word.charAt(0).toUpperCase()}${word.slice(1)}`);
  return new Alarm(scope, capitalised.join(''), {
    alarmName: `token-broker-${name}-${environment.name}`,
    alarmDescription: `${means} ${act}`,
    metric: watchedMetric(definition, watched, rateSeconds(environment.health.every)),
    threshold: typeof threshold === 'number' ? threshold : longestRequestMs(environment) + threshold.msBeyondServices,
    comparisonOperator:
      of === 'silence' ? ComparisonOperator.LESS_THAN_THRESHOLD : ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
    evaluationPeriods: periods,
    datapointsToAlarm: count,
    treatMissingData: MISSING[of],
  });
}

const MISSING = {
  // Nothing happened.
  traffic: TreatMissingData.NOT_BREACHING,
  // Until a run says something else it is as the last one found it; for silence there is an alarm of its own.
  run: TreatMissingData.IGNORE,
  // No value at all is how it begins: an alarm that has rung goes on, a new one waits for the first run.
  silence: TreatMissingData.IGNORE,
};

function watchedMetric<Watched>(
  { watch, shareOf, of = 'traffic', minutes = 5 }: AlarmDefinition<Watched>,
  watched: Watched,
  intervalSeconds: number,
): IMetric {
  const metric = watch(watched);
  const period = of === 'traffic' ? Duration.minutes(minutes) : Duration.seconds(intervalSeconds);
  if (shareOf !== undefined) {
    return new MathExpression({
      label: 'Percent of the calls that end in a 4xx',
      expression: `IF(FILL(requests, 0) >= ${shareOf.atLeast}, 100 * refused / requests, 0)`,
      usingMetrics: { refused: metric, requests: shareOf.whole(watched) },
      period,
    });
  }
  // Values come five minutes late at the most: a shorter period would be taken for silent, and not be looked at again.
  if (of === 'run' || minutes < 5) return metric.with({ period });
  // Where there are no values CloudWatch looks for older ones: an alarm would come and go after its cause is over, or be
  // late when it waits for silence.
  const filled = 'FILL(found, 0)';
  // Silence is what follows a run: before the first one of an environment there is none.
  const expression = of === 'silence' ? `IF(RUNNING_SUM(${filled}) > 0, ${filled}, found)` : filled;
  return new MathExpression({ expression, usingMetrics: { found: metric }, period });
}

/** The longest that any service may take for a token request: what takes longer is not a service's fault. */
function longestRequestMs({ services }: Environment): number {
  return Math.max(...Object.values(services).map(({ requestTimeoutMs }) => requestTimeoutMs));
}

const FULL_WIDTH = 24;

function widgetsOf(row: Row, logGroupName: string): readonly IWidget[] {
  if ('question' in row) {
    return [new TextWidget({ markdown: `## ${row.question}\n${row.hint}`, width: FULL_WIDTH, height: 2 })];
  }
  if ('queries' in row) {
    return row.queries.map(
      ({ title, lines }) =>
        new LogQueryWidget({
          title,
          logGroupNames: [logGroupName],
          queryLines: [...lines],
          view: LogQueryVisualizationType.TABLE,
          width: FULL_WIDTH / row.queries.length,
          height: 6,
        }),
    );
  }
  return row.graphs.map(
    ({ title, left, unit, percent, minutes = 5, stacked = false }) =>
      new GraphWidget({
        title,
        left: [...left],
        leftYAxis: { min: 0, label: unit, showUnits: false },
        ...(percent && { right: [percent], rightYAxis: { min: 0, max: 100, label: '%', showUnits: false } }),
        stacked,
        period: Duration.minutes(minutes),
        legendPosition: LegendPosition.BOTTOM,
        width: FULL_WIDTH / row.graphs.length,
        height: 6,
      }),
  );
}

function consoleOf(region: string): string {
  return region.startsWith('cn-') ? `${region}.console.amazonaws.cn` : `${region}.console.aws.amazon.com`;
}
