import { Metric, type MetricProps } from 'aws-cdk-lib/aws-cloudwatch';
import type { Alias } from 'aws-cdk-lib/aws-lambda';
import { METRIC_NAMESPACE, type MetricName } from '../../functions/vocabulary.ts';

/** The alias with the URL. Its metrics cover all calls, whichever version answers. */
export type CalledFunction = Pick<Alias, 'metric' | 'metricErrors' | 'metricThrottles' | 'metricDuration'>;

/** A metric of the log lines of one environment's functions; each exists under a few sets of dimensions only. */
export type BrokerMetric = (
  metricName: MetricName,
  dimensions?: { readonly service?: string; readonly outcome?: string; readonly version?: string },
  props?: Pick<MetricProps, 'label' | 'statistic'>,
) => Metric;

/** Creates metrics of an environment; a test compares them with the lines of the functions. */
export function brokerMetrics(environment: string): BrokerMetric {
  return (metricName, dimensions, props) => {
    const dimensionsMap = { environment, ...dimensions };
    return new Metric({ namespace: METRIC_NAMESPACE, metricName, dimensionsMap, statistic: 'Sum', ...props });
  };
}

/** A metric of the calls of the alias that its newest version has answered. */
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
