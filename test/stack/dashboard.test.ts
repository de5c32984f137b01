import { Metric } from 'aws-cdk-lib/aws-cloudwatch';
import { expect, it } from 'vitest';
import { PROBLEMS } from '../../functions/vocabulary.ts';
import { dashboardRows } from '../../lib/monitoring/dashboard.ts';
import { alarmsOf, metricKey } from '../support/aws/cloudwatch/template-alarms.ts';
import { deployed } from '../support/stack/deployed-stack.ts';
import { emittedMetrics } from '../support/stack/emitted-metrics.ts';
import { type Synthesised, synthesise } from '../support/stack/synthesise.ts';
import { exampleForm } from '../unit/settings/example-form.ts';

const stack = synthesise('test', exampleForm());
const widgets = widgetsOf(stack);

/** All warnings are kept alike; the dashboard shows these by service alone. */
const UNSEEN = [
  'ClassicalTls',
  'CredentialEchoed',
  'ExpiryWithoutZone',
  'LifetimeCut',
  'PreviousVersionUsed',
  'SameTokenAgain',
].map((name) => `${name} by environment`);

it('shows, together with the alarms, every metric that the functions write, but for a list with reasons', () => {
  const shown = [...widgets.flatMap(metricsIn), ...alarmsOf(stack).flatMap(({ metrics }) => metrics)];
  const ofBroker = shown.filter((key) => key.startsWith('["TokenBroker"'));
  const emitted = emittedMetrics(Object.keys(exampleForm().services)).map(metricKey);
  expect(ofBroker.filter((key) => !emitted.includes(key))).toEqual([]);
  const seen = new Set(ofBroker.map(kindOf));
  const unseen = new Set(emitted.map(kindOf).filter((kind) => !seen.has(kind)));
  expect([...unseen].toSorted()).toEqual(UNSEEN);
});

it('has an outcome for every problem there is', () => {
  const requests = widgets.flatMap(metricsIn).filter((key) => key.includes('"Requests"'));
  const outcomes = requests.map((key) => /\["outcome","([\w-]+)"\]/.exec(key)?.[1]);
  expect(new Set(outcomes)).toEqual(new Set(['issued', ...Object.keys(PROBLEMS)]));
});

/** @see gchq/sleeper#2160 */
it.each([60, 61, 250])('CloudWatch takes the dashboard of %i services', (count) => {
  const metric = new Metric({ namespace: 'TokenBroker', metricName: 'Requests' });
  const get = () => metric;
  const called = { metric: get, metricErrors: get, metricThrottles: get, metricDuration: get };
  const services = Array.from({ length: count }, (_, index) => `service-${index}`);
  const rows = dashboardRows({ services, broker: get, called, healthMinutes: 60 });
  const texts = rows.filter((row) => 'question' in row);
  const graphs = rows.flatMap((row) => ('question' in row ? [] : row));
  const metrics = graphs.map(({ left, percent }) => left.length + (percent ? 3 : 0));
  // One more widget shows the alarms.
  expect(texts.length + graphs.length).toBeLessThan(500);
  expect(Math.max(...metrics)).toBeLessThanOrEqual(500);
  expect(metrics.reduce((sum, number) => sum + number)).toBeLessThanOrEqual(2_500);
  expect(JSON.stringify(rows).includes('Without graphs of their own')).toBe(count > 60);
});

interface Widget {
  readonly properties: {
    readonly metrics?: readonly (readonly unknown[])[];
  };
}

function widgetsOf(synthesised: Synthesised): readonly Widget[] {
  const dashboard = deployed(synthesised).find(({ type }) => type === 'AWS::CloudWatch::Dashboard');
  return JSON.parse(dashboard?.properties.DashboardBody).widgets;
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
