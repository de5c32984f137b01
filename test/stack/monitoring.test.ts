import { Metric } from 'aws-cdk-lib/aws-cloudwatch';
import { describe, expect, it } from 'vitest';
import { PROBLEMS } from '../../functions/vocabulary.ts';
import { ALARM_NAMES } from '../../lib/monitoring/alarms.ts';
import { dashboardRows } from '../../lib/monitoring/dashboard.ts';
import { alarmsOf, compute, metricKey } from '../support/aws/cloudwatch/template-alarms.ts';
import { deployed } from '../support/stack/deployed-stack.ts';
import { emittedMetrics } from '../support/stack/emitted-metrics.ts';
import { resourceOf, type Synthesised, synthesise } from '../support/stack/synthesise.ts';
import { exampleForm } from '../unit/settings/example-form.ts';

const form = { ...exampleForm(), trail: {} };
const synthesised = synthesise('test', form);
const alarms = alarmsOf(synthesised);
const ownNameOf = (alarmName: string) => alarmName.replace(/^token-broker-(.*)-test$/, '$1');
const named = alarms.map((alarm) => [ownNameOf(alarm.AlarmName), alarm] as const);
const alarmOf = (name: string) => named.find(([own]) => own === name)?.[1] ?? expect.unreachable(name);
const widgets = widgetsOf(synthesised);
const emitted = emittedMetrics(Object.keys(form.services)).map(metricKey);
const isOfNewVersion = ([name]: (typeof named)[number]) => name.startsWith('new-version-');

describe('every alarm', () => {
  it('notifies the operators when it begins and when it ends, unless another alarm reports the same', () => {
    const topic = ['arn:aws:sns:eu-west-1:111111111111:token-broker-test'];
    for (const [name, alarm] of named.filter((one) => !isOfNewVersion(one))) {
      expect(alarm, name).toMatchObject({ AlarmActions: topic, OKActions: topic });
    }
    for (const [name, { AlarmActions, Threshold }] of named.filter(isOfNewVersion)) {
      expect(AlarmActions, name).toBeUndefined();
      const usual = alarmOf(name.replace('new-version-', ''));
      expect(usual).toMatchObject({ AlarmActions: topic });
      // A version that lost the table goes back at its first 503. Operators hear of five calls.
      expect([name, usual.Threshold]).toEqual([name, name.endsWith('table-unavailable') ? 5 : Threshold]);
    }
  });

  it('has a name in the settings, and is switched off by it', () => {
    const isOff = (name: string, index: number) => name.startsWith('new-version-') || index % 2 === 1;
    const rest = alarmsOf(synthesise('test', { ...form, alarms: { off: ALARM_NAMES.filter(isOff) } }));
    const on = ALARM_NAMES.filter((name, index) => !isOff(name, index));
    expect(named.map(([name]) => name).toSorted()).toEqual(ALARM_NAMES.toSorted());
    expect(rest.map(({ AlarmName }) => ownNameOf(AlarmName)).toSorted()).toEqual(on.toSorted());
  });

  it.each(['rate(59 minutes)', 'rate(1 day)'])(
    'looks back no further than CloudWatch can, with health at %s',
    (every) => {
      for (const { periodSeconds, EvaluationPeriods } of alarmsOf(synthesise('test', { ...form, health: { every } }))) {
        expect(periodSeconds % 60).toBe(0);
        expect(periodSeconds * EvaluationPeriods).toBeLessThanOrEqual(periodSeconds < 3_600 ? 86_400 : 604_800);
      }
    },
  );
});

describe('every alarm reads metrics that there are, with their dimensions', () => {
  const alias = { FunctionName: 'token-broker-test', Resource: 'token-broker-test:live' };
  const QueueName = deployed(synthesised).find(({ type }) => type === 'AWS::SQS::Queue')?.ref ?? '';
  /** @see https://docs.aws.amazon.com/lambda/latest/dg/monitoring-metrics-types.html */
  const ofLambda = (dimensions: Readonly<Record<string, string>>, ...names: readonly string[]) =>
    names.map((name) => ({ namespace: 'AWS/Lambda', name, dimensions }));
  const ofTrail = deployed(synthesised)
    .filter(({ type }) => type === 'AWS::Logs::MetricFilter')
    .flatMap(({ properties }) => properties.MetricTransformations)
    .map(({ MetricNamespace, MetricName }) => ({ namespace: MetricNamespace, name: MetricName, dimensions: {} }));
  const known = [
    ...ofLambda(alias, 'Errors', 'Throttles', 'Duration', 'Url4xxCount', 'UrlRequestCount'),
    ...ofLambda({ ...alias, ExecutedVersion: '1' }, 'Errors', 'Duration'),
    { namespace: 'AWS/SQS', name: 'ApproximateNumberOfMessagesVisible', dimensions: { QueueName } },
    ...ofTrail,
  ].map(metricKey);

  it.each(named)('%s', (_, { metrics }) => {
    expect(metrics).not.toEqual([]);
    expect(metrics.filter((key) => ![...emitted, ...known].includes(key))).toEqual([]);
  });
});

it('the alarms of a new version see any minute of it, however late its values come, and do not wait for the alias, whose deployment waits for them', () => {
  for (const [, { periodSeconds, expression, metrics }] of named.filter(isOfNewVersion)) {
    expect([periodSeconds, expression]).toEqual([60, undefined]);
    for (const key of metrics) expect(key).toMatch(/\["(?:ExecutedVersion|version)","1"\]/);
  }
  const alias = resourceOf(synthesised, 'TokenEndpoint', 'AWS::Lambda::Alias').id;
  const { Resources } = synthesised.template;
  const ofNewVersion = Object.entries(Resources).filter(([id]) => /NewVersion\w*Alarm|Alarms\w*NewVersion/.test(id));
  expect(ofNewVersion).toHaveLength(4);
  for (const [, { Properties }] of ofNewVersion) expect(JSON.stringify(Properties)).not.toContain(alias);
});

it('the alarms on slow calls allow the time limit of the slowest service, and two seconds more', () => {
  const slow = { authUrl: 'https://auth.example.com', requestTimeoutMs: 6_000 };
  const changed = alarmsOf(synthesise('test', { ...form, services: { ...form.services, slow } }));
  const ofDuration = changed.filter(({ AlarmName }) => AlarmName.includes('p99-duration'));
  expect(ofDuration.map(({ Threshold }) => Threshold)).toEqual([8_000, 8_000]);
});

describe('the formula of an alarm', () => {
  const share = (refused: number | undefined, requests: number | undefined) => ({ refused, requests });
  const found = (...values: readonly (number | undefined)[]) => values.map((one) => ({ found: one }));

  it.each<[name: string, what: string, periods: Parameters<typeof compute>[1], values: (number | undefined)[]]>([
    [
      'client-error-surge',
      'the share of many requests only: 25 percent of 50',
      [share(49, 49), share(12, 50), share(13, 50), share(13, 52), share(undefined, undefined)],
      [0, 24, 26, 25, 0],
    ],
    ['errors', 'none where there is no value', found(undefined, 1, undefined), [0, 1, 0]],
  ])('%s: %s', (name, _, periods, values) => {
    expect(compute(alarmOf(name).expression ?? '', periods)).toEqual(values);
  });
});

/** All warnings are kept alike; the dashboard shows these by service alone. */
const UNSEEN = [
  'ClassicalTls',
  'CredentialEchoed',
  'ExpiryWithoutZone',
  'LifetimeCut',
  'PreviousVersionUsed',
  'SameTokenAgain',
].map((name) => `${name} by environment`);

it('the dashboard shows, together with the alarms, every metric that the functions write, but for a list with reasons', () => {
  const shown = [...widgets.flatMap(metricsIn), ...alarms.flatMap(({ metrics }) => metrics)];
  const ofBroker = shown.filter((key) => key.startsWith('["TokenBroker"'));
  expect(ofBroker.filter((key) => !emitted.includes(key))).toEqual([]);
  const seen = new Set(ofBroker.map(kindOf));
  const unseen = new Set(emitted.map(kindOf).filter((kind) => !seen.has(kind)));
  expect([...unseen].toSorted()).toEqual(UNSEEN);
});

it('the dashboard has an outcome for every problem there is', () => {
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
