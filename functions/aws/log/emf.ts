import { METRIC_NAMESPACE, type MetricName } from '../../vocabulary.ts';

/** The destination of an environment's lines. */
export interface Log {
  readonly environment: string;
  readonly now: () => number;
  readonly write: (line: string) => void;
}

/**
 * Metrics of a line, and their sets of dimensions. An alarm cannot aggregate other sets. Neither client nor caller is a
 * dimension, because each combination of values costs money.
 */
interface MetricSet {
  readonly by: readonly (readonly string[])[];
  readonly counts?: readonly MetricName[];
  readonly milliseconds?: readonly MetricName[];
}

/** Returns the definition of metrics as text, to be made once: it is the larger part of most lines. */
export function metrics({ by, counts = [], milliseconds = [] }: MetricSet): string {
  const ofUnit = (Unit: string, names: readonly MetricName[]) => names.map((Name) => ({ Name, Unit }));
  const Metrics = [...ofUnit('Count', counts), ...ofUnit('Milliseconds', milliseconds)];
  return JSON.stringify({ Namespace: METRIC_NAMESPACE, Dimensions: by, Metrics });
}

/**
 * Returns a line of JSON that is also a CloudWatch EMF document, to be written with `writeLine`.
 *
 * @see https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html
 */
export function emfLine(timestamp: number, definitions: string, members: object): string {
  const document = `{"Timestamp":${timestamp},"CloudWatchMetrics":[${definitions}]}`;
  return `{"_aws":${document},${JSON.stringify(members).slice(1)}\n`;
}

export const BY_ENVIRONMENT = ['environment'];
export const BY_SERVICE = ['environment', 'service'];
export const BY_OUTCOME = ['environment', 'outcome'];
export const BY_SERVICE_AND_OUTCOME = ['environment', 'service', 'outcome'];
