import { Duration } from 'aws-cdk-lib';
import {
  GraphWidget,
  type IMetric,
  LegendPosition,
  LogQueryVisualizationType,
  LogQueryWidget,
  TextWidget,
} from 'aws-cdk-lib/aws-cloudwatch';
import type { ILogGroup } from 'aws-cdk-lib/aws-logs';

interface Graph {
  readonly title: string;
  readonly left: readonly IMetric[];
  /** What the numbers on the left are. */
  readonly unit: string;
  /** Percent, when there is a second axis. */
  readonly percent?: readonly IMetric[];
  readonly minutes?: number;
  readonly stacked?: boolean;
}

/** The whole width of a dashboard. */
export const FULL_WIDTH = 24;

/** Graphs side by side. */
export function graphs(...row: readonly Graph[]): readonly GraphWidget[] {
  return row.map(({ title, left, unit, percent = [], minutes = 5, stacked = false }) => {
    return new GraphWidget({
      title,
      left: [...left],
      leftYAxis: { min: 0, label: unit, showUnits: false },
      ...(percent.length > 0 && {
        right: [...percent],
        rightYAxis: { min: 0, max: 100, label: '%', showUnits: false },
      }),
      stacked,
      period: Duration.minutes(minutes),
      legendPosition: LegendPosition.BOTTOM,
      width: FULL_WIDTH / row.length,
      height: 6,
    });
  });
}

/** The question that the graphs below it answer. */
export function heading(question: string, hint: string): TextWidget {
  return new TextWidget({ markdown: `## ${question}\n${hint}`, width: FULL_WIDTH, height: 2 });
}

/** What only lines can tell, since no metric names a caller or a client. */
export function lines(title: string, log: ILogGroup, queryLines: readonly string[]): LogQueryWidget {
  return new LogQueryWidget({
    title,
    logGroupNames: [log.logGroupName],
    queryLines: [...queryLines],
    view: LogQueryVisualizationType.TABLE,
    width: FULL_WIDTH / 2,
    height: 6,
  });
}
