import { describe, expect, it } from 'vitest';
import { alarmSchema } from '../../lib/settings/alarm-schema.ts';
import { metricsOf, periodSeconds } from '../support/cloudwatch/alarm.ts';
import { alarmsOf } from '../support/cloudwatch/template-alarms.ts';
import { synthesiseMonitoring } from './monitored.ts';
import { resourceOf } from './synthesise.ts';

const synthesised = synthesiseMonitoring();
const alarms = alarmsOf(synthesised);
const isOfNewVersion = ({ AlarmName }: { readonly AlarmName: string }) => AlarmName.includes('-new-version-');

describe('every alarm', () => {
  it('tells the operators when it begins and when it is over, unless another one tells the same', () => {
    const topic = [resourceOf(synthesised, 'OperatorTopic', 'AWS::SNS::Topic').id];
    for (const alarm of alarms) {
      expect(alarm).toMatchObject(isOfNewVersion(alarm) ? {} : { AlarmActions: topic, OKActions: topic });
    }
    for (const { AlarmName, AlarmActions, Threshold } of alarms.filter(isOfNewVersion)) {
      expect(AlarmActions).toBeUndefined();
      const other = alarms.find((one) => one.AlarmName === AlarmName.replace('new-version-', ''));
      expect(other).toMatchObject({ AlarmActions: topic, Threshold });
    }
  });

  it('says what it means and what to do', () => {
    for (const { AlarmDescription = '' } of alarms) {
      expect(AlarmDescription).toMatch(/^[A-Z].*?\. [A-Z].*\.$/);
      expect(AlarmDescription.length).toBeLessThanOrEqual(1_024);
    }
  });

  it('has a setting, and is switched off by it', () => {
    const namesWith = (settings: object) =>
      alarmsOf(synthesiseMonitoring({ alarms: settings })).map(({ AlarmName }) => AlarmName);
    const all = namesWith({});
    const settings = Object.keys(alarmSchema.shape);
    expect(all).toHaveLength(settings.length);
    // Each is off in other rounds than any other one is: five of them do for all.
    for (const bit of [1, 2, 4, 8, 16]) {
      const off = settings.filter((_, index) => ((index + 1) & bit) > 0);
      const names = off.map((setting) => `token-broker-${setting.replaceAll(/(?=[A-Z])/g, '-').toLowerCase()}-test`);
      expect(namesWith(Object.fromEntries(off.map((setting) => [setting, false])))).toEqual(
        all.filter((name) => !names.includes(name)),
      );
    }
  });

  it.each(['rate(15 minutes)', 'rate(59 minutes)', 'rate(1 hour)', 'rate(1 day)'])(
    'looks back no further than CloudWatch can, with health at %s',
    (every) => {
      const changes = { health: { every }, alarms: { healthSilent: { intervals: 7 } } };
      for (const alarm of alarmsOf(synthesiseMonitoring(changes))) {
        const period = periodSeconds(alarm);
        expect(period % 60).toBe(0);
        expect(period * alarm.EvaluationPeriods).toBeLessThanOrEqual(period < 3_600 ? 86_400 : 604_800);
      }
    },
  );
});

describe('an alarm that is tuned', () => {
  const tuned = alarmsOf(
    synthesiseMonitoring({
      alarms: {
        deniedCallerSurge: { threshold: 7, minutes: 2, periods: 4, breaching: 3 },
        p99Duration: { beyondMs: 1_000 },
        clientErrorSurge: { percent: 40, minimumRequests: 9 },
        healthSilent: { intervals: 3 },
      },
    }),
  );
  const called = (name: string) =>
    tuned.find(({ AlarmName }) => AlarmName === `token-broker-${name}-test`) ?? expect.unreachable();

  it('rings when the settings say so', () => {
    expect(called('denied-caller-surge')).toMatchObject({ Threshold: 7, EvaluationPeriods: 4, DatapointsToAlarm: 3 });
    expect(periodSeconds(called('denied-caller-surge'))).toBe(120);
    expect(called('client-error-surge')).toMatchObject({ Threshold: 40 });
    expect(JSON.stringify(called('client-error-surge'))).toContain('>= 9,');
    expect(called('health-silent')).toMatchObject({ EvaluationPeriods: 3, DatapointsToAlarm: 3 });
  });

  it('allows a call what the slowest service may take, and some more', () => {
    expect(called('p99-duration')).toMatchObject({ Threshold: 5_000 });
  });
});

describe('the alarms of a new version', () => {
  const ofNewVersion = alarms.filter(isOfNewVersion);

  it('count what that version does with the calls of the alias, and nothing of the one before', () => {
    expect(ofNewVersion.flatMap(metricsOf).toSorted()).toEqual([
      '["AWS/Lambda","Duration",[["ExecutedVersion","7"],["FunctionName","token-broker-test"],["Resource","token-broker-test:live"]]]',
      '["AWS/Lambda","Errors",[["ExecutedVersion","7"],["FunctionName","token-broker-test"],["Resource","token-broker-test:live"]]]',
      '["TokenBroker","Requests",[["environment","test"],["outcome","internal"],["version","7"]]]',
    ]);
  });

  it('see what happened in any minute, however late its values come', () => {
    for (const alarm of ofNewVersion) {
      expect(periodSeconds(alarm)).toBe(60);
      expect(JSON.stringify(alarm)).not.toContain('FILL');
    }
  });

  it('do not wait for the alias, whose deployment waits for them', () => {
    const alias = resourceOf(synthesised, '', 'AWS::Lambda::Alias').id;
    for (const { Type, Properties } of Object.values(synthesised.template.Resources)) {
      if (Type === 'AWS::CloudWatch::Alarm') expect(JSON.stringify(Properties)).not.toContain(alias);
    }
  });
});
