import { z } from 'zod';
import { metricKey } from './metric-points.ts';
import { type Resources, resolve } from './resolve.ts';

/** One widget of a dashboard. */
export interface Widget {
  readonly type: string;
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
  readonly title: string;
  readonly region: string | undefined;
  /** What a text says, or what a query asks. */
  readonly text: string;
  /** As `metricKey` names them. */
  readonly metrics: readonly string[];
}

/** The dashboard of a template, as CloudWatch gets it. */
export function dashboardOf({ template }: { readonly template: { readonly Resources: Resources } }): {
  readonly name: string;
  readonly widgets: readonly Widget[];
} {
  const [dashboard, ...others] = Object.values(template.Resources).filter(
    ({ Type }) => Type === 'AWS::CloudWatch::Dashboard',
  );
  if (dashboard === undefined || others.length > 0) throw new TypeError('there must be one dashboard');
  const { DashboardName, DashboardBody } = properties.parse(resolve(dashboard.Properties, template.Resources));
  const { widgets } = body.parse(JSON.parse(DashboardBody));
  return {
    name: DashboardName,
    widgets: widgets.map(({ properties: { title = '', region, markdown, query, metrics = [] }, ...place }) => ({
      ...place,
      title,
      region,
      text: markdown ?? query ?? '',
      metrics: metrics.flatMap((row) => keyOf(row) ?? []),
    })),
  };
}

const properties = z.object({ DashboardName: z.string(), DashboardBody: z.string() });

const body = z.object({
  widgets: z.array(
    z.object({
      type: z.string(),
      x: z.number(),
      y: z.number(),
      width: z.number(),
      height: z.number(),
      properties: z.object({
        title: z.string().optional(),
        region: z.string().optional(),
        markdown: z.string().optional(),
        query: z.string().optional(),
        metrics: z.array(z.array(z.unknown())).optional(),
      }),
    }),
  ),
});

/** Namespace, name, names and values of dimensions in turn, options; an expression has its options only. */
function keyOf(row: readonly unknown[]): string | undefined {
  const [namespace, name, ...dimensions] = row.filter((cell) => typeof cell === 'string');
  if (namespace === undefined || name === undefined) return undefined;
  const pairs = dimensions.flatMap((value, index) => {
    const dimension = dimensions[index - 1];
    return index % 2 === 1 && dimension !== undefined ? [[dimension, value]] : [];
  });
  return metricKey({ namespace, name, dimensions: Object.fromEntries(pairs) });
}
