import { Duration } from 'aws-cdk-lib';
import { AlarmStatusWidget, Dashboard, type IAlarm } from 'aws-cdk-lib/aws-cloudwatch';
import type { ILogGroup } from 'aws-cdk-lib/aws-logs';
import { Construct } from 'constructs';
import type { Environment } from '../settings/environment.ts';
import { rateSeconds } from '../settings/health.ts';
import { functionName, tableName } from '../settings/names.ts';
import { brokerRows } from './dashboard-broker.ts';
import { callerRows } from './dashboard-callers.ts';
import { FULL_WIDTH } from './dashboard-graph.ts';
import { serviceRows } from './dashboard-services.ts';
import type { CalledFunction } from './function-alarms.ts';
import { brokerMetrics } from './metrics.ts';

interface OperatorDashboardProps {
  readonly environment: Environment;
  readonly alarms: readonly IAlarm[];
  /** What callers call: the alias that has the URL. */
  readonly called: CalledFunction;
  /** Of the token function. */
  readonly log: ILogGroup;
}

/** What somebody who was woken looks at, from top to bottom: what rings, what callers see, each service, the broker. */
export class OperatorDashboard extends Construct {
  /** Opens it in the console. */
  readonly url: string;

  constructor(scope: Construct, id: string, { environment, alarms, called, log }: OperatorDashboardProps) {
    super(scope, id);
    const { name, region } = environment;
    const services = Object.keys(environment.services);
    const metric = brokerMetrics(name);
    const healthMinutes = rateSeconds(environment.health.every) / 60;
    // An account has one list of dashboards for all its regions.
    const dashboardName = `${functionName(name)}-${region}`;

    const dashboard = new Dashboard(this, 'Dashboard', { dashboardName, defaultInterval: Duration.hours(3) });
    const title = `Token broker ${name}, ${region}: what rings`;
    dashboard.addWidgets(new AlarmStatusWidget({ title, alarms: [...alarms], width: FULL_WIDTH, height: 4 }));
    const rows = [
      ...callerRows({ services, metric, called, log }),
      ...services.flatMap((service) => serviceRows(service, metric, healthMinutes)),
      ...brokerRows({ metric, called, log, tableName: tableName(name), healthMinutes }),
    ];
    for (const row of rows) dashboard.addWidgets(...row);
    this.url = `https://${consoleOf(region)}/cloudwatch/home?region=${region}#dashboards/dashboard/${dashboardName}`;
  }
}

function consoleOf(region: string): string {
  return region.startsWith('cn-') ? `${region}.console.amazonaws.cn` : `${region}.console.aws.amazon.com`;
}
