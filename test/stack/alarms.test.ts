import { describe, expect, it } from 'vitest';
import { ALARM_NAMES } from '../../lib/monitoring/alarms.ts';
import { MINUTE_MS, metricsOf, periodSeconds, watch } from '../support/cloudwatch/alarm.ts';
import { createHealthDay } from '../support/cloudwatch/health-day.ts';
import { metricKey, pointsOf } from '../support/cloudwatch/metric-points.ts';
import { alarmsOf } from '../support/cloudwatch/template-alarms.ts';
import { START } from '../support/example.ts';
import { exampleForm } from '../unit/settings/example-form.ts';
import { ALARM_CASES } from './alarm-cases.ts';
import { synthesiseMonitoring } from './monitored.ts';
import { resourceOf } from './synthesise.ts';

const synthesised = synthesiseMonitoring();
const alarms = alarmsOf(synthesised);
const caseNameOf = (alarmName: string) => alarmName.replace(/^token-broker-(.*)-test$/, '$1');
const isOfNewVersion = ({ AlarmName }: { readonly AlarmName: string }) => AlarmName.includes('-new-version-');

describe('every alarm', () => {
  it('tells the operators when it begins and when it ends, unless another alarm tells the same', () => {
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

  it('has a name in the settings, and is switched off by it', () => {
    const namesWithout = (off: readonly string[]) =>
      alarmsOf(synthesiseMonitoring({ alarms: { off } })).map(({ AlarmName }) => AlarmName);
    const nameOf = (name: string) => `token-broker-${name}-test`;
    expect(namesWithout([])).toEqual(ALARM_NAMES.map(nameOf));
    // Each is off in other rounds than any other one is: five of them do for all.
    for (const bit of [1, 2, 4, 8, 16]) {
      const isOff = (_: string, index: number) => ((index + 1) & bit) > 0;
      const on = ALARM_NAMES.filter((name, index) => !isOff(name, index));
      expect(namesWithout(ALARM_NAMES.filter(isOff))).toEqual(on.map(nameOf));
    }
  });

  it.each(['rate(15 minutes)', 'rate(59 minutes)', 'rate(1 hour)', 'rate(1 day)'])(
    'looks back no further than CloudWatch can, with health at %s',
    (every) => {
      for (const alarm of alarmsOf(synthesiseMonitoring({ health: { every } }))) {
        const period = periodSeconds(alarm);
        expect(period % 60).toBe(0);
        expect(period * alarm.EvaluationPeriods).toBeLessThanOrEqual(period < 3_600 ? 86_400 : 604_800);
      }
    },
  );
});

it('the alarms on slow calls allow a call what the slowest service may take, and two seconds more', () => {
  const services = {
    ...exampleForm().services,
    slow: { authUrl: 'https://auth.example.com', requestTimeoutMs: 6_000 },
  };
  const ofDuration = alarmsOf(synthesiseMonitoring({ services })).filter(({ AlarmName }) =>
    /p99-duration/.test(AlarmName),
  );
  expect(ofDuration.map(({ Threshold }) => Threshold)).toEqual([8_000, 8_000]);
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

describe('the alarms of the template', () => {
  it('each have a case below, and no case is about an alarm that does not exist', () => {
    expect(Object.keys(ALARM_CASES).toSorted()).toEqual(
      alarms.map(({ AlarmName }) => caseNameOf(AlarmName)).toSorted(),
    );
  });

  it.each(alarms.map((alarm) => [caseNameOf(alarm.AlarmName), alarm] as const))(
    '%s rings when it is bad, not before, and ends when it is good again',
    async (name, alarm) => {
      const { points, badFrom, badUntil, endsAt } = (await ALARM_CASES[name]?.()) ?? expect.unreachable();
      const states = watch(alarm, points, START + 20 * MINUTE_MS, endsAt);
      const minutes = (from: number, until: number) => {
        const indexOf = (time: number) => Math.max(0, Math.ceil((time - START) / MINUTE_MS) - 20);
        return states.slice(indexOf(from), indexOf(until) + 1);
      };
      expect(minutes(START, badFrom), 'before').not.toContain('ALARM');
      expect(minutes(badFrom, badUntil), 'meanwhile').toContain('ALARM');
      expect(states.at(-1), 'afterwards').toBe('OK');
    },
  );

  it.each(alarms.map((alarm) => [caseNameOf(alarm.AlarmName), alarm] as const))(
    '%s reads nothing that is not there in its case',
    async (name, alarm) => {
      const { points } = (await ALARM_CASES[name]?.()) ?? expect.unreachable();
      const keys = new Set(points.map(metricKey));
      for (const key of metricsOf(alarm)) expect(keys).toContain(key);
    },
  );
});

describe('when health falls silent', () => {
  it('nothing rings in a new environment, however long its first run takes to come', () => {
    for (const alarm of alarms) {
      expect(watch(alarm, [], START, START + 24 * 60 * MINUTE_MS), alarm.AlarmName).not.toContain('ALARM');
    }
  });

  it('alarms about its last run go on, and only the alarm about the silence begins', async () => {
    const day = createHealthDay();
    day.world.answer = () => ({ finding: 'rejected', provenBy: 'latch' });
    await day.runs(2);
    await day.silence(6);
    const ringing = alarms.filter((alarm) => {
      return watch(alarm, pointsOf(day.lines), START + MINUTE_MS, day.clock.now()).at(-1) === 'ALARM';
    });
    expect(ringing.map(({ AlarmName }) => caseNameOf(AlarmName)).toSorted()).toEqual(['health-silent', 'latch-active']);
  });
});
