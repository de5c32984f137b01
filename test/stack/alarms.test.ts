import { describe, expect, it } from 'vitest';
import { ALARM_NAMES } from '../../lib/monitoring/alarms.ts';
import { metricsOf, type Period, periodSeconds, watch } from '../support/cloudwatch/alarm.ts';
import { metricKey } from '../support/cloudwatch/metric-points.ts';
import { alarmsOf, deployed } from '../support/cloudwatch/template-alarms.ts';
import { exampleForm } from '../unit/settings/example-form.ts';
import { emittedMetrics } from './emitted-metrics.ts';
import { resourceOf, synthesise } from './synthesise.ts';

const form = { ...exampleForm(), trail: {} };
const synthesised = synthesise('test', form);
const alarms = alarmsOf(synthesised);
const ownNameOf = (alarmName: string) => alarmName.replace(/^token-broker-(.*)-test$/, '$1');
const named = alarms.map((alarm) => [ownNameOf(alarm.AlarmName), alarm] as const);
const isOfNewVersion = ([name]: (typeof named)[number]) => name.startsWith('new-version-');

describe('every alarm', () => {
  it('tells the operators when it begins and when it ends, unless another alarm tells the same', () => {
    const topic = ['arn:aws:sns:eu-west-1:111111111111:token-broker-test'];
    for (const [name, alarm] of named.filter((one) => !isOfNewVersion(one))) {
      expect(alarm, name).toMatchObject({ AlarmActions: topic, OKActions: topic });
    }
    for (const [name, { AlarmActions, Threshold }] of named.filter(isOfNewVersion)) {
      expect(AlarmActions, name).toBeUndefined();
      const [, other] = named.find(([own]) => own === name.replace('new-version-', '')) ?? [];
      expect(other, name).toMatchObject({ AlarmActions: topic, Threshold });
    }
  });

  it('says what it means and what to do', () => {
    for (const { AlarmDescription } of alarms) {
      expect(AlarmDescription).toMatch(/^[A-Z].*?\. [A-Z].*\.$/);
      expect(AlarmDescription.length).toBeLessThanOrEqual(1_024);
    }
  });

  it('has a name in the settings, and is switched off by it', () => {
    const isOff = (_: string, index: number) => index % 2 === 1;
    const rest = alarmsOf(synthesise('test', { ...form, alarms: { off: ALARM_NAMES.filter(isOff) } }));
    const on = ALARM_NAMES.filter((name, index) => !isOff(name, index));
    expect(named.map(([name]) => name).toSorted()).toEqual(ALARM_NAMES.toSorted());
    expect(rest.map(({ AlarmName }) => ownNameOf(AlarmName)).toSorted()).toEqual(on.toSorted());
  });

  it.each(['rate(15 minutes)', 'rate(59 minutes)', 'rate(1 day)'])(
    'looks back no further than CloudWatch can, with health at %s',
    (every) => {
      for (const alarm of alarmsOf(synthesise('test', { ...form, health: { every } }))) {
        const period = periodSeconds(alarm);
        expect(period % 60).toBe(0);
        expect(period * alarm.EvaluationPeriods).toBeLessThanOrEqual(period < 3_600 ? 86_400 : 604_800);
      }
    },
  );
});

describe('every alarm reads metrics that there are, with their dimensions', () => {
  const alias = [
    ['FunctionName', 'token-broker-test'],
    ['Resource', 'token-broker-test:live'],
  ];
  const newVersion = [['ExecutedVersion', '1'], ...alias];
  const queue = deployed(synthesised).find(({ type }) => type === 'AWS::SQS::Queue')?.ref;
  /** @see https://docs.aws.amazon.com/lambda/latest/dg/monitoring-metrics-types.html */
  const ofAws = [
    ...['Errors', 'Throttles', 'Duration', 'Url4xxCount', 'UrlRequestCount'].map((name) => ['AWS/Lambda', name, alias]),
    ...['Errors', 'Duration'].map((name) => ['AWS/Lambda', name, newVersion]),
    ['AWS/SQS', 'ApproximateNumberOfMessagesVisible', [['QueueName', queue]]],
  ].map((metric) => JSON.stringify(metric));
  const ofTrail = deployed(synthesised)
    .filter(({ type }) => type === 'AWS::Logs::MetricFilter')
    .flatMap(({ properties }) => properties.MetricTransformations)
    .map(({ MetricNamespace, MetricName }) => JSON.stringify([MetricNamespace, MetricName, []]));
  const emitted = new Set([...emittedMetrics(Object.keys(form.services)).map(metricKey), ...ofAws, ...ofTrail]);

  it.each(named)('%s', (_, alarm) => {
    expect(metricsOf(alarm)).not.toEqual([]);
    expect(metricsOf(alarm).filter((key) => !emitted.has(key))).toEqual([]);
  });
});

it('the alarms of a new version see any minute of it, however late its values come, and do not wait for the alias, whose deployment waits for them', () => {
  for (const [, alarm] of named.filter(isOfNewVersion)) {
    expect(periodSeconds(alarm)).toBe(60);
    expect(JSON.stringify(alarm)).not.toContain('FILL');
    for (const key of metricsOf(alarm)) expect(key).toMatch(/\["(?:ExecutedVersion|version)","1"\]/);
  }
  const alias = resourceOf(synthesised, 'TokenEndpoint', 'AWS::Lambda::Alias').id;
  const { Resources } = synthesised.template;
  const ofNewVersion = Object.entries(Resources).filter(([id]) => /NewVersion\w*Alarm|Alarms\w*NewVersion/.test(id));
  expect(ofNewVersion).toHaveLength(3);
  for (const [, { Properties }] of ofNewVersion) expect(JSON.stringify(Properties)).not.toContain(alias);
});

it('the alarms on slow calls allow a call what the slowest service may take, and two seconds more', () => {
  const slow = { authUrl: 'https://auth.example.com', requestTimeoutMs: 6_000 };
  const changed = alarmsOf(synthesise('test', { ...form, services: { ...form.services, slow } }));
  const ofDuration = changed.filter(({ AlarmName }) => AlarmName.includes('p99-duration'));
  expect(ofDuration.map(({ Threshold }) => Threshold)).toEqual([8_000, 8_000]);
});

describe('the alarm', () => {
  const share = (refused: number | undefined, requests: number | undefined) => ({ refused, requests });

  /** O is well, A rings and a hyphen has not said anything yet, at the end of each period. */
  it.each<[name: string, what: string, periods: readonly (Period | number | undefined)[], states: string]>([
    ['errors', 'rings for one, until a period without one', [undefined, 1, undefined, 0], 'OAOO'],
    ['new-version-errors', 'rings for one, until a period without one', [0, 1, 0, 0], 'OAOO'],
    ['throttles', 'waits for two periods of three', [0, 3, 0, 1, 0, undefined], 'OOOAOO'],
    ['p99-duration', 'takes a quiet period for a fast one', [9_000, undefined, 9_000, undefined, undefined], 'OOAOO'],
    ['denied-caller-surge', 'lets a few denials pass', [19, 20, undefined], 'OAO'],
    [
      'client-error-surge',
      'counts the share of many requests only',
      [share(49, 49), share(12, 50), share(13, 50), share(13, 52), share(0, 60), share(undefined, undefined)],
      'OOOAAO',
    ],
    ['latch-active', 'stays until a run finds none', [0, 2, undefined, undefined, undefined, 0], 'OAAAAO'],
    ['probe-not-denied', 'does not ring before the first run', [undefined, undefined, 1, 0], '--AO'],
    ['health-silent', 'does not ring before the first run', [undefined, undefined, undefined, undefined], '----'],
    [
      'health-silent',
      'rings when two runs are missing of three, and goes on until they come again',
      [1, 1, undefined, 1, undefined, undefined, undefined, undefined, undefined, undefined, 1, 1],
      'OOOOAAAAAAOO',
    ],
  ])('%s %s', (name, _, periods, states) => {
    const alarm = named.find(([own]) => own === name)?.[1] ?? expect.unreachable();
    const said = watch(
      alarm,
      periods.map((found) => (typeof found === 'object' ? found : { found })),
    );
    expect(said.map((state) => (state === 'INSUFFICIENT_DATA' ? '-' : state.charAt(0))).join('')).toBe(states);
  });

  it.each(named)('%s does not ring in a new environment, however long it takes until something happens', (_, alarm) => {
    const nothing = Object.fromEntries(alarm.Metrics.map(({ Id }) => [Id, undefined]));
    expect(watch(alarm, Array(12).fill(nothing))).not.toContain('ALARM');
  });
});
