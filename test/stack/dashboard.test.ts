import { describe, expect, expectTypeOf, it } from 'vitest';
import type { IgnoredEvent } from '../../functions/aws/client-secrets.ts';
import type { Unreadable } from '../../functions/aws/pair-table/table.ts';
import { PROBLEMS } from '../../functions/contract.ts';
import type { IGNORED_EVENTS, UNREADABLE } from '../../lib/monitoring/dashboard.ts';
import { createBrokerDay } from '../support/cloudwatch/broker-day.ts';
import { alarmsOf, metricKey } from '../support/cloudwatch/template-alarms.ts';
import { functionUrlEvent } from '../support/function-url-events.ts';
import { exampleForm } from '../unit/settings/example-form.ts';
import { deployed } from './deployed-stack.ts';
import { emittedMetrics } from './emitted-metrics.ts';
import { resourcesOf, type Synthesised, synthesise } from './synthesise.ts';

const stack = synthesise('test', exampleForm());
const widgets = widgetsOf(stack);
const titles = titlesOf(widgets);

describe('the dashboard', () => {
  it('begins with what rings, and answers one question after the other', () => {
    expect(titles[0]).toBe('Token broker test, eu-west-1: what rings');
    expect(widgets.flatMap(({ properties: { markdown } }) => markdown?.split('\n')[0] ?? [])).toEqual([
      '## Do callers get tokens?',
      '## Are callers refused?',
      '## Service customer-insights',
      '## Service merchant-payment-cleansing',
      '## Is it the broker itself?',
      '## Are the credentials proven?',
    ]);
  });

  it('shows every alarm that tells the operators', () => {
    const telling = deployed(stack).filter(({ properties }) => properties.AlarmActions);
    expect(widgets[0]?.properties.alarms).toEqual(telling.map(({ arn }) => arn));
  });

  it('has the same widgets for every service, with any list of services', () => {
    const ofService = (service: string, all: readonly string[]) =>
      all.filter((title) => title.startsWith(`${service}: `)).map((title) => title.slice(service.length + 2));
    const services = { other: { authUrl: 'https://auth.example.com' } };
    const others = titlesOf(widgetsOf(synthesise('test', { ...exampleForm(), services, accessRules: [] })));

    expect(ofService('customer-insights', titles)).toHaveLength(7);
    expect(ofService('merchant-payment-cleansing', titles)).toEqual(ofService('customer-insights', titles));
    expect(ofService('other', others)).toEqual(ofService('customer-insights', titles));
    expect(ofService('customer-insights', others)).toEqual([]);
  });

  it('has a title for every graph and nothing without metrics, all in one region', () => {
    const graphs = widgets.filter(({ type }) => type === 'metric');
    expect(new Set(titlesOf(graphs)).size).toBe(graphs.length);
    for (const graph of graphs) {
      expect(graph.properties.title).toMatch(/^[\w-].{8,80}$/);
      expect(metricsIn(graph), graph.properties.title).not.toEqual([]);
      expect(graph.properties.region).toBe('eu-west-1');
    }
  });

  it('fills its rows without a gap or an overlap', () => {
    const rows = Map.groupBy(widgets, ({ y }) => y);
    for (const row of rows.values()) {
      expect(row.reduce((total, { width }) => total + width, 0)).toBe(24);
      expect(new Set(row.map(({ x, height }) => `${x} ${height}`)).size).toBe(row.length);
      expect(new Set(row.map(({ height }) => height)).size).toBe(1);
    }
  });

  it('asks the log for what its lines have', async () => {
    const day = createBrokerDay();
    await day.invoke(functionUrlEvent({ client: 'acme', service: 'customer-insights' }));
    const members = Object.keys(JSON.parse(day.lines[0] ?? '{}'));
    const queries = widgets.flatMap(({ properties: { query } }) => query ?? []);
    expect(queries).toHaveLength(2);
    for (const query of queries) {
      const fields = /\| fields (.*)/.exec(query)?.[1]?.split(', ') ?? [];
      expect(fields.length).toBeGreaterThan(1);
      expect(members).toEqual(expect.arrayContaining(fields));
    }
  });
});

describe('the link to the dashboard', () => {
  it.each([
    ['eu-west-1', 'eu-west-1.console.aws.amazon.com'],
    ['cn-north-1', 'cn-north-1.console.amazonaws.cn'],
  ])('of %s leads to the dashboard in the console of its part of AWS', (region, host) => {
    const own = synthesise('test', { ...exampleForm(), region, accessRules: [] });
    const name = `token-broker-test-${region}`;
    expect(own.template.Outputs.DashboardUrl?.Value).toBe(
      `https://${host}/cloudwatch/home?region=${region}#dashboards/dashboard/${name}`,
    );
    expect(resourcesOf(own, 'AWS::CloudWatch::Dashboard')).toMatchObject([{ Properties: { DashboardName: name } }]);
  });
});

/** Metrics that neither an alarm nor the dashboard shows, and why they exist. */
const UNSEEN: Readonly<Record<string, string>> = {
  'CredentialEchoed by environment': 'all warnings are kept alike; the dashboard shows this one by service',
  'PreviousVersionUsed by environment': 'all warnings are kept alike; the dashboard shows this one by service',
  'SameTokenAgain by environment': 'all warnings are kept alike; the dashboard shows this one by service',
};

describe('what the dashboard and the alarms show', () => {
  const shown = [...widgets.flatMap(metricsIn), ...alarmsOf(stack).flatMap(({ metrics }) => metrics)];
  const ofBroker = (keys: readonly string[]) => keys.filter((key) => key.startsWith('["TokenBroker"'));
  const emitted = emittedMetrics(Object.keys(exampleForm().services)).map(metricKey);

  it('is what the functions write, all of it but for what is listed with a reason', () => {
    expect(ofBroker(shown).filter((key) => !emitted.includes(key))).toEqual([]);
    const seen = new Set(ofBroker(shown).map(kindOf));
    const unseen = new Set(emitted.map(kindOf).filter((kind) => !seen.has(kind)));
    expect([...unseen].toSorted()).toEqual(Object.keys(UNSEEN));
  });

  it('is of AWS only what its own documentation has', () => {
    const ofAws = widgets.flatMap(metricsIn).filter((key) => !key.startsWith('["TokenBroker"'));
    expect([...new Set(ofAws.map((key) => `${key.slice(2, key.indexOf('","'))} ${kindOf(key)}`))].toSorted()).toEqual([
      'AWS/Lambda ConcurrentExecutions by FunctionName, Resource',
      'AWS/Lambda Duration by FunctionName, Resource',
      'AWS/Lambda Errors by FunctionName, Resource',
      'AWS/Lambda Throttles by FunctionName, Resource',
      'AWS/Lambda Url4xxCount by FunctionName, Resource',
      'AWS/Lambda UrlRequestCount by FunctionName, Resource',
    ]);
  });

  it('has an outcome for every problem there is, and every reason to read past a record or to ignore an event', () => {
    const requests = widgets.flatMap(metricsIn).filter((key) => key.includes('"Requests"'));
    const outcomes = requests.map((key) => /\["outcome","([\w-]+)"\]/.exec(key)?.[1]);
    expect(new Set(outcomes)).toEqual(new Set(['issued', ...Object.keys(PROBLEMS)]));
    // Proven by the compiler.
    expectTypeOf<(typeof UNREADABLE)[number]>().toEqualTypeOf<Unreadable>();
    expectTypeOf<(typeof IGNORED_EVENTS)[number]>().toEqualTypeOf<IgnoredEvent>();
  });
});

interface Widget {
  readonly type: string;
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
  readonly properties: {
    readonly title?: string;
    readonly region?: string;
    readonly markdown?: string;
    readonly query?: string;
    readonly alarms?: readonly string[];
    readonly metrics?: readonly (readonly unknown[])[];
  };
}

function widgetsOf(synthesised: Synthesised): readonly Widget[] {
  const dashboard = deployed(synthesised).find(({ type }) => type === 'AWS::CloudWatch::Dashboard');
  return JSON.parse(dashboard?.properties.DashboardBody).widgets;
}

function titlesOf(of: readonly Widget[]): readonly string[] {
  return of.map(({ properties: { title = '' } }) => title);
}

/** As `metricKey` names them. A row has namespace, name, dimensions in turn and options; an expression its options only. */
function metricsIn({ properties: { metrics = [] } }: Widget): readonly string[] {
  return metrics.flatMap((row) => {
    const [namespace, name, ...cells] = row.filter((cell) => typeof cell === 'string');
    if (namespace === undefined || name === undefined) return [];
    const dimensions = cells.flatMap((cell, index) => (index % 2 === 0 ? [[cell, cells[index + 1]]] : []));
    return [metricKey({ namespace, name, dimensions: Object.fromEntries(dimensions) })];
  });
}

/** A metric by its name and the names of its dimensions. */
function kindOf(key: string): string {
  const [, name, dimensions]: [string, string, [string, string][]] = JSON.parse(key);
  return `${name} by ${dimensions.map(([dimension]) => dimension).join(', ')}`;
}
