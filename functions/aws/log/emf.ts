/** Metrics of one line, and the sets of its members under each of which CloudWatch keeps them. */
export interface MetricSet {
  readonly by: readonly (readonly string[])[];
  readonly counts?: readonly string[];
  readonly milliseconds?: readonly string[];
}

/**
 * One line of JSON that is a CloudWatch EMF document as well; to be written with `writeLine`. An alarm reads a metric under
 * exactly the dimensions that it names and cannot add up others. Never by client or caller: each combination of values is
 * paid for.
 *
 * @see https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html
 */
export function emfLine(timestamp: number, sets: readonly MetricSet[], members: object): string {
  const metrics = `{"Timestamp":${timestamp},"CloudWatchMetrics":${definitionsOf(sets)}}`;
  return `{"_aws":${metrics},${JSON.stringify(members).slice(1)}\n`;
}

/** Most lines have the same sets, and they are most of the line: their text is made once. */
function definitionsOf(sets: readonly MetricSet[]): string {
  const known = DEFINITIONS.get(sets);
  if (known !== undefined) return known;
  const definitions = JSON.stringify(
    sets.map(({ by, counts = [], milliseconds = [] }) => ({
      Namespace: 'TokenBroker',
      Dimensions: by,
      Metrics: [
        ...counts.map((Name) => ({ Name, Unit: 'Count' })),
        ...milliseconds.map((Name) => ({ Name, Unit: 'Milliseconds' })),
      ],
    })),
  );
  DEFINITIONS.set(sets, definitions);
  return definitions;
}

const DEFINITIONS = new WeakMap<readonly MetricSet[], string>();

export const BY_ENVIRONMENT = ['environment'];
export const BY_SERVICE = ['environment', 'service'];
export const BY_OUTCOME = ['environment', 'outcome'];
export const BY_SERVICE_AND_OUTCOME = ['environment', 'service', 'outcome'];
