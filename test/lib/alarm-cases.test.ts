import { describe, expect, it } from 'vitest';
import { MINUTE_MS, metricsOf, watch } from '../support/cloudwatch/alarm.ts';
import { createHealthDay } from '../support/cloudwatch/health-day.ts';
import { metricKey, pointsOf } from '../support/cloudwatch/metric-points.ts';
import { alarmsOf } from '../support/cloudwatch/template-alarms.ts';
import { START } from '../support/example.ts';
import { ALARM_CASES } from './alarm-cases.ts';
import { exampleForm } from './example-form.ts';
import { synthesise } from './synthesise.ts';

const alarms = alarmsOf(synthesise('test', exampleForm()));
const caseNameOf = (alarmName: string) => alarmName.replace(/^token-broker-(.*)-test$/, '$1');

describe('the alarms of the template', () => {
  it('each have a case below, and no case is about an alarm that there is not', () => {
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
  it('what its last run found rings on, and nothing but the silence begins to', async () => {
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
