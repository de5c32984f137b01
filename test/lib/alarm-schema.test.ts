import { describe, expect, it } from 'vitest';
import { alarmSchema } from '../../lib/settings/alarm-schema.ts';
import { parseEnvironment } from '../../lib/settings/environment.ts';
import { exampleForm, faultsIn } from './example-form.ts';

const OBJECT_OR_FALSE = 'must be an object, or false to switch the alarm off';

describe('the settings of an alarm', () => {
  it.each([
    [{ latched: false }, /^latched: is not a known member \(known: errors, /],
    [{ errors: true }, `errors: ${OBJECT_OR_FALSE}`],
    [{ errors: 'off' }, `errors: ${OBJECT_OR_FALSE}`],
    [
      { errors: { treshold: 2 } },
      'errors.treshold: is not a known member, did you mean threshold? (known: threshold, minutes, periods, breaching)',
    ],
    [{ errors: { threshold: 0 } }, 'errors.threshold: must be at least 1'],
    [{ errors: { threshold: 1.5 } }, 'errors.threshold: must be a whole number'],
    [{ errors: { minutes: 0 } }, 'errors.minutes: must be at least 1'],
    [{ errors: { minutes: 1_441 } }, 'errors.minutes: must be at most 1440'],
    [{ errors: { breaching: 2 } }, 'errors.breaching: must not be more than periods'],
    [{ errors: { minutes: 59, periods: 25 } }, 'errors.periods: must not look back for more than a day'],
    [{ errors: { minutes: 60, periods: 169 } }, 'errors.periods: must not look back for more than seven days'],
    [{ latchActive: { minutes: 5 } }, 'latchActive.minutes: is not a known member (known: threshold)'],
    [{ healthSilent: { intervals: 8 } }, 'healthSilent.intervals: must be at most 7'],
    [{ p99Duration: { beyondMs: 100 } }, 'p99Duration.beyondMs: must be at least 500'],
    [{ clientErrorSurge: { percent: 101 } }, 'clientErrorSurge.percent: must be at most 100'],
  ])('%j are refused with their path and the reason', (alarms, fault) => {
    const [line, ...others] = faultsIn(() => parseEnvironment('test', { ...exampleForm(), alarms }));
    expect(others).toEqual([]);
    const reason = line?.replace('environments.test.alarms.', '');
    if (typeof fault === 'string') expect(reason).toBe(fault);
    else expect(reason).toMatch(fault);
  });

  it('show every default', () => {
    for (const [name, tuning] of Object.entries(alarmSchema.parse({}))) {
      expect(tuning, name).toEqual(expect.any(Object));
      expect(Object.values(tuning), name).not.toContain(undefined);
    }
  });
});
