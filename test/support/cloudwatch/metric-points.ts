import { z } from 'zod';

/** One value of one metric. */
export interface Point {
  readonly namespace: string;
  readonly name: string;
  readonly dimensions: Readonly<Record<string, string>>;
  readonly value: number;
  /** Epoch milliseconds. */
  readonly at: number;
}

/** What CloudWatch takes out of lines of a log; throws at a line that is not as the embedded metric format wants it. */
export function pointsOf(lines: readonly string[]): readonly Point[] {
  return lines.flatMap((line) => {
    const { _aws, ...members } = document.parse(JSON.parse(line));
    return _aws.CloudWatchMetrics.flatMap(({ Namespace, Dimensions, Metrics }) =>
      Dimensions.flatMap((names) =>
        Metrics.map(({ Name }) => ({
          namespace: Namespace,
          name: Name,
          dimensions: Object.fromEntries(names.map((name) => [name, dimensionValue.parse(members[name])])),
          value: z.number().parse(members[Name]),
          at: _aws.Timestamp,
        })),
      ),
    );
  });
}

/** A metric is what its namespace, its name and exactly these dimensions make it; none of them is a part of another. */
export function metricKey({ namespace, name, dimensions }: Omit<Point, 'value' | 'at'>): string {
  const sorted = Object.entries(dimensions).toSorted(([one], [other]) => (one < other ? -1 : 1));
  return JSON.stringify([namespace, name, sorted]);
}

/** @see https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html */
const document = z.looseObject({
  _aws: z.strictObject({
    Timestamp: z.int(),
    CloudWatchMetrics: z.array(
      z.strictObject({
        Namespace: z.string().min(1),
        Dimensions: z.array(z.array(z.string()).max(30)).min(1),
        Metrics: z
          .array(z.strictObject({ Name: z.string().min(1), Unit: z.enum(['Count', 'Milliseconds']) }))
          .min(1)
          .max(100),
      }),
    ),
  }),
});

const dimensionValue = z.string().min(1).max(1_024);
