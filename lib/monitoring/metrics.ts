import { Metric, type MetricProps } from 'aws-cdk-lib/aws-cloudwatch';
import { PROBLEMS, type ProblemType } from '../../functions/contract.ts';

/** The dimensions beside the environment; each metric exists under a few sets of them only. */
interface Dimensions {
  readonly service?: string;
  readonly outcome?: string;
  readonly version?: string;
}

/** Makes a metric of the lines that the functions of an environment write; a test compares it with what they do write. */
export type BrokerMetric = (
  metricName: string,
  dimensions?: Dimensions,
  props?: Pick<MetricProps, 'label' | 'statistic' | 'color'>,
) => Metric;

export function brokerMetrics(environment: string): BrokerMetric {
  return (metricName, dimensions = {}, props = {}) =>
    new Metric({
      namespace: 'TokenBroker',
      metricName,
      dimensionsMap: { environment, ...dimensions },
      statistic: 'Sum',
      ...props,
    });
}

/** How a request for a token ends when none is issued, by who can do something about it. */
export const OUTCOMES = {
  caller: problemsOf('caller'),
  operator: problemsOf('operator'),
  service: problemsOf('service'),
  broker: problemsOf('broker'),
};

function problemsOf(who: (typeof PROBLEMS)[ProblemType]['concerns']): readonly string[] {
  return Object.entries(PROBLEMS).flatMap(([type, { concerns }]) => (concerns === who ? [type] : []));
}

/** Why the token of a shared record cannot be opened. */
export const UNREADABLE = ['closed', 'no-key'] as const;

/** Why an event of Secrets Manager leads to no check. */
export const IGNORED_EVENTS = ['foreign', 'malformed'] as const;
