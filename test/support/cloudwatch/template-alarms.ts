import { z } from 'zod';
import { type Deployed, deploy, type TemplateText } from '../cloudformation.ts';

/** An alarm as CloudWatch gets it: nothing in it refers to anything any more. */
export type Alarm = z.output<typeof alarmDefinition>;

/** The alarms of a template. */
export function alarmsOf(synthesised: { readonly template: TemplateText }): readonly Alarm[] {
  const alarms = deployed(synthesised).filter(({ type }) => type === 'AWS::CloudWatch::Alarm');
  return alarms.map(({ properties }) => alarmDefinition.parse(properties));
}

/** What a template of the tests becomes. */
export function deployed({ template }: { readonly template: TemplateText }): readonly Deployed[] {
  const place = { account: '111111111111', region: 'eu-west-1', partition: 'aws' };
  return deploy(template, { stackName: 'TokenBroker-test', ...place });
}

const metric = {
  Namespace: z.string(),
  MetricName: z.string(),
  Dimensions: z.array(z.strictObject({ Name: z.string(), Value: z.string() })).default([]),
};

const metricQuery = z.strictObject({
  Id: z.string(),
  Label: z.string().optional(),
  Expression: z.string().optional(),
  ReturnData: z.boolean().optional(),
  MetricStat: z.strictObject({ Metric: z.strictObject(metric), Stat: z.string(), Period: z.number() }).optional(),
});

const rule = {
  AlarmName: z.string(),
  AlarmDescription: z.string(),
  AlarmActions: z.array(z.string()).optional(),
  OKActions: z.array(z.string()).optional(),
  Tags: z.array(z.object({})).optional(),
  EvaluationPeriods: z.number(),
  DatapointsToAlarm: z.number(),
  Threshold: z.number(),
  ComparisonOperator: z.enum(['GreaterThanOrEqualToThreshold', 'LessThanThreshold']),
  TreatMissingData: z.enum(['ignore', 'notBreaching']),
};

/** Every property that an alarm here may have: one that `watch` does not know must not be overlooked. */
const alarmDefinition = z.union([
  z.strictObject({ ...rule, Metrics: z.array(metricQuery) }),
  // An alarm on one metric is one on an expression that is just this metric.
  z
    .strictObject({
      ...rule,
      ...metric,
      Statistic: z.string().optional(),
      ExtendedStatistic: z.string().optional(),
      Period: z.number(),
    })
    .transform(({ Namespace, MetricName, Dimensions, Statistic, ExtendedStatistic, Period, ...alarm }) => {
      const Stat = z.string().parse(Statistic ?? ExtendedStatistic);
      const MetricStat = { Metric: { Namespace, MetricName, Dimensions }, Stat, Period };
      return { ...alarm, Metrics: [{ Id: 'found', MetricStat, Expression: undefined, ReturnData: true }] };
    }),
]);
