import { describe, expect, expectTypeOf, it } from 'vitest';
import type { IgnoredEvent } from '../../functions/aws/client-secrets.ts';
import type { Unreadable } from '../../functions/aws/pair-table/table.ts';
import { FINDINGS, PROBLEMS } from '../../functions/contract.ts';
import { IGNORED_EVENTS, UNREADABLE } from '../../lib/monitoring/dashboard.ts';
import { metricsOf } from '../support/cloudwatch/alarm.ts';
import { createBrokerDay } from '../support/cloudwatch/broker-day.ts';
import { dashboardOf } from '../support/cloudwatch/dashboard.ts';
import { metricKey } from '../support/cloudwatch/metric-points.ts';
import { DEPLOYED } from '../support/cloudwatch/resolve.ts';
import { alarmsOf } from '../support/cloudwatch/template-alarms.ts';
import { exampleForm } from '../unit/settings/example-form.ts';
import { emittedMetrics } from './metric-sources.ts';
import { resourcesOf, synthesise } from './synthesise.ts';

const stack = synthesise('test', exampleForm());
const { name, widgets } = dashboardOf(stack);
const titles = widgets.map(({ title }) => title);

describe('the dashboard', () => {
  it('begins with what rings, and answers one question after the other', () => {
    expect(titles[0]).toBe('Token broker test, eu-west-1: what rings');
    expect(widgets.filter(({ type }) => type === 'text').map(({ text }) => text.split('\n')[0])).toEqual([
      '## Do callers get tokens?',
      '## Are callers refused?',
      '## Service customer-insights',
      '## Service merchant-payment-cleansing',
      '## Is it the broker itself?',
      '## Are the credentials proven?',
      '## What is paid for?',
    ]);
  });

  it('shows every alarm that tells the operators', () => {
    const telling = resourcesOf(stack, 'AWS::CloudWatch::Alarm').filter(({ Properties }) => Properties.AlarmActions);
    const [dashboard] = resourcesOf(stack, 'AWS::CloudWatch::Dashboard');
    const body: string = JSON.stringify(dashboard?.Properties.DashboardBody);
    const shown = [...body.matchAll(/"Fn::GetAtt":\["(MonitoringAlarms\w+)","Arn"\]/g)].map(([, id]) => id);
    expect(new Set(shown).size).toBe(telling.length);
  });

  it('has the same widgets for every service, with any list of services', () => {
    const ofService = (service: string, all: readonly string[]) =>
      all.filter((title) => title.startsWith(`${service}: `)).map((title) => title.slice(service.length + 2));
    const services = { other: { authUrl: 'https://auth.example.com' } };
    const form = { ...exampleForm(), services, accessRules: [] };
    const others = dashboardOf(synthesise('test', form)).widgets.map(({ title }) => title);

    expect(ofService('customer-insights', titles)).toHaveLength(7);
    expect(ofService('merchant-payment-cleansing', titles)).toEqual(ofService('customer-insights', titles));
    expect(ofService('other', others)).toEqual(ofService('customer-insights', titles));
    expect(ofService('customer-insights', others)).toEqual([]);
  });

  it('has a title for every graph and nothing without metrics, all in one region', () => {
    const graphs = widgets.filter(({ type }) => type === 'metric');
    expect(new Set(graphs.map(({ title }) => title)).size).toBe(graphs.length);
    for (const { title, metrics, region } of graphs) {
      expect(title).toMatch(/^[\w-].{8,80}$/);
      expect(metrics.length, title).toBeGreaterThan(0);
      expect(region, title).toBe(DEPLOYED.region);
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
    await day.ask();
    const members = Object.keys(JSON.parse(day.lines[0] ?? '{}'));
    const queries = widgets.filter(({ type }) => type === 'log').map(({ text }) => text);
    expect(queries).toHaveLength(2);
    for (const query of queries) {
      const fields = /\| fields (.*)/.exec(query)?.[1]?.split(', ') ?? [];
      expect(fields.length).toBeGreaterThan(1);
      for (const field of fields) expect(members).toContain(field);
    }
  });

  it('reads no metric of AWS but those that its own documentation has', () => {
    const ofAws = widgets.flatMap(({ metrics }) => metrics).filter((key) => !key.startsWith('["TokenBroker"'));
    const kinds = ofAws.map((key) => {
      const [namespace, metric, dimensions]: [string, string, [string, string][]] = JSON.parse(key);
      return `${namespace} ${metric} by ${dimensions.map(([dimension]) => dimension).join(', ')}`;
    });
    expect([...new Set(kinds)].toSorted()).toEqual([
      'AWS/DynamoDB ConsumedReadCapacityUnits by TableName',
      'AWS/DynamoDB ConsumedWriteCapacityUnits by TableName',
      'AWS/Lambda ConcurrentExecutions by FunctionName, Resource',
      'AWS/Lambda Duration by FunctionName, Resource',
      'AWS/Lambda Errors by FunctionName, Resource',
      'AWS/Lambda Invocations by FunctionName, Resource',
      'AWS/Lambda Throttles by FunctionName, Resource',
      'AWS/Lambda Url4xxCount by FunctionName, Resource',
      'AWS/Lambda UrlRequestCount by FunctionName, Resource',
      'AWS/Logs IncomingBytes by LogGroupName',
    ]);
  });
});

describe('the link to the dashboard', () => {
  it.each([
    ['eu-west-1', 'eu-west-1.console.aws.amazon.com'],
    ['cn-north-1', 'cn-north-1.console.amazonaws.cn'],
  ])('of %s leads to the console of its part of AWS', (region, host) => {
    const { template } = synthesise('test', { ...exampleForm(), region, accessRules: [] });
    expect(template.Outputs.DashboardUrl?.Value).toBe(
      `https://${host}/cloudwatch/home?region=${region}#dashboards/dashboard/token-broker-test-${region}`,
    );
  });

  it('names the dashboard that there is', () => {
    expect(stack.template.Outputs.DashboardUrl?.Value).toMatch(new RegExp(`/dashboard/${name}$`));
  });
});

const shown = [
  ...alarmsOf(stack).flatMap((alarm) => metricsOf(alarm).map((key) => [alarm.AlarmName, key] as const)),
  ...widgets.flatMap(({ title, metrics }) => metrics.map((key) => [title, key] as const)),
].filter(([, key]) => key.startsWith('["TokenBroker"'));

/** Metrics that neither an alarm nor the dashboard shows, and why they exist. */
const UNSEEN: Readonly<Record<string, string>> = {
  'PreviousVersionUsed by environment': 'all warnings are kept alike; the dashboard shows this one by service',
  'SameTokenAgain by environment': 'all warnings are kept alike; the dashboard shows this one by service',
  'CredentialEchoed by environment': 'all warnings are kept alike; the dashboard shows this one by service',
};

describe('what the code writes and what is shown of it', () => {
  it('have the same names and dimensions, but for what is listed with a reason', async () => {
    const emitted = new Set((await emittedMetrics()).map(metricKey).map(kindOf));
    for (const [where, key] of shown) expect(emitted, `${where}: ${key}`).toContain(kindOf(key));

    const seen = new Set(shown.map(([, key]) => kindOf(key)));
    expect([...emitted].filter((kind) => !seen.has(kind)).toSorted()).toEqual(Object.keys(UNSEEN).toSorted());
  });

  it('mean the same services and outcomes', () => {
    const services = [...Object.keys(exampleForm().services), 'none'];
    const outcomes = new Set<string>([
      'issued',
      'failed',
      ...Object.keys(PROBLEMS),
      ...FINDINGS,
      ...UNREADABLE,
      ...IGNORED_EVENTS,
    ]);
    for (const [where, key] of shown) {
      const { environment, service, outcome, version } = dimensionsOf(key);
      expect(environment, where).toBe('test');
      expect(version, where).toBeOneOf([undefined, '7']);
      if (service !== undefined) expect(services, where).toContain(service);
      if (outcome !== undefined) expect(outcomes, where).toContain(outcome);
    }
  });
});

describe('the words of the dashboard', () => {
  it('are all the problems there are', () => {
    const ofRequests = widgets.flatMap(({ metrics }) => metrics.filter((key) => key.includes('"Requests"')));
    const outcomes = new Set(ofRequests.map((key) => dimensionsOf(key).outcome));
    expect([...outcomes].toSorted()).toEqual(['issued', ...Object.keys(PROBLEMS)].toSorted());
  });

  it('are all reasons to read past a record or to ignore an event', () => {
    // Proven by the compiler.
    expectTypeOf<(typeof UNREADABLE)[number]>().toEqualTypeOf<Unreadable>();
    expectTypeOf<(typeof IGNORED_EVENTS)[number]>().toEqualTypeOf<IgnoredEvent>();
  });
});

/** A metric by its name and the names of its dimensions. */
function kindOf(key: string): string {
  const [, name, dimensions]: [string, string, [string, string][]] = JSON.parse(key);
  return `${name} by ${dimensions.map(([dimension]) => dimension).join(', ')}`;
}

function dimensionsOf(key: string): Readonly<Record<string, string>> {
  const [, , dimensions]: [string, string, [string, string][]] = JSON.parse(key);
  return Object.fromEntries(dimensions);
}
