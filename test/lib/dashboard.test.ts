import { describe, expect, it } from 'vitest';
import { createBrokerDay } from '../support/cloudwatch/broker-day.ts';
import { dashboardOf } from '../support/cloudwatch/dashboard.ts';
import { DEPLOYED } from '../support/cloudwatch/resolve.ts';
import { exampleForm } from './example-form.ts';
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

  it('has the same for every service, whatever services there are', () => {
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
