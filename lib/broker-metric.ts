import { Metric, type MetricProps } from 'aws-cdk-lib/aws-cloudwatch';

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
