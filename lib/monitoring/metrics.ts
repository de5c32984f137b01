import { Metric, type MetricProps } from 'aws-cdk-lib/aws-cloudwatch';
import type { Alias } from 'aws-cdk-lib/aws-lambda';
import { METRIC_NAMESPACE, type MetricName } from '../../functions/vocabulary.ts';

/** The alias that has the URL. Its metrics cover the calls of all versions. */
export type CalledFunction = Pick<Alias, 'metric' | 'metricErrors' | 'metricThrottles' | 'metricDuration'>;

/** A metric from an environment's log lines. Each metric has values for a few sets of dimensions only. */
export type BrokerMetric = (
  metricName: MetricName,
  dimensions?: { readonly service?: string; readonly outcome?: string; readonly version?: string },
  props?: Pick<MetricProps, 'label' | 'statistic'>,
) => Metric;

/** Creates metrics of an environment. A test compares them with the log lines of the functions. */
export function brokerMetrics(environment: string): BrokerMetric {
  return (metricName, dimensions, props) => {
    const dimensionsMap = { environment, ...dimensions };
    return new Metric({ namespace: METRIC_NAMESPACE, metricName, dimensionsMap, statistic: 'Sum', ...props });
  };
}

/** A metric of the alias that counts only the calls of the newest version. */
export function newVersionMetric(alias: Alias, metricName: string, statistic: string): Metric {
  const { functionName } = alias.lambda;
  return new Metric({
    namespace: 'AWS/Lambda',
    metricName,
    dimensionsMap: {
      FunctionName: functionName,
      Resource: `${functionName}:${alias.aliasName}`,
      ExecutedVersion: alias.version.version,
    },
    statistic,
  });
}
