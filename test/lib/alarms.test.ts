import { describe, expect, it } from 'vitest';
import { alarmSchema } from '../../lib/alarm-schema.ts';
import { changed, exampleForm } from './example-form.ts';
import { synthesiseMonitoring } from './monitored.ts';
import { resourceOf, resourcesOf, synthesise } from './synthesise.ts';

const stack = synthesise('test', changed(exampleForm(), 'health', { every: 'rate(30 minutes)' }));
const alarms = alarmsOf(stack);

describe('the alarms of health', () => {
  it('tell that no run ended for twice as long as there is between two', () => {
    expect(alarmCalled('token-broker-health-silent-test')).toMatchObject({
      Namespace: 'TokenBroker',
      MetricName: 'Heartbeat',
      Period: 1_800,
      EvaluationPeriods: 2,
      ComparisonOperator: 'LessThanThreshold',
      Threshold: 1,
      TreatMissingData: 'breaching',
    });
  });

  it.each(['rate(15 minutes)', 'rate(59 minutes)', 'rate(1 hour)', 'rate(1 day)'])(
    'look back no further than CloudWatch can, with %s',
    (every) => {
      const changes = { health: { every }, alarms: { healthSilent: { intervals: 7 } } };
      for (const { Period, EvaluationPeriods } of alarmsOf(synthesiseMonitoring(changes))) {
        if (Period === undefined) continue;
        expect(Period % 60).toBe(0);
        expect(Period * EvaluationPeriods).toBeLessThanOrEqual(Period < 3_600 ? 86_400 : 604_800);
      }
    },
  );
});

describe('every alarm', () => {
  it('tells the operators when it begins and when it is over, unless it is there to take a new version back', () => {
    const topic = { Ref: resourceOf(stack, 'OperatorTopic', 'AWS::SNS::Topic').id };
    const ofOperators = alarms.filter(({ AlarmName }) => !/^token-broker-new-version-/.test(AlarmName));
    expect(ofOperators.length).toBe(alarms.length - 3);
    for (const alarm of ofOperators) expect(alarm).toMatchObject({ AlarmActions: [topic], OKActions: [topic] });
  });

  it('says what it means and what to do', () => {
    for (const { AlarmDescription } of alarms) {
      expect(AlarmDescription).toMatch(/^[A-Z].*?[.:] .*\.$/);
      expect(AlarmDescription.length).toBeLessThanOrEqual(1_024);
    }
  });

  it('has a setting, and can be switched off by it', () => {
    const namesOf = (alarmSettings: object) =>
      alarmsOf(synthesiseMonitoring({ alarms: alarmSettings })).map(({ AlarmName }) => AlarmName);
    const all = namesOf({});
    const settings = Object.keys(alarmSchema.shape);
    expect(all).toHaveLength(settings.length);
    for (const setting of settings) {
      const name = `token-broker-${setting.replaceAll(/(?=[A-Z])/g, '-').toLowerCase()}-test`;
      expect(namesOf({ [setting]: false })).toEqual(all.filter((other) => other !== name));
    }
  });
});

describe('an alarm that is tuned', () => {
  const tuned = alarmsOf(
    synthesiseMonitoring({
      alarms: {
        deniedCallerSurge: { threshold: 7, minutes: 2, periods: 4, breaching: 3 },
        p99Duration: { beyondMs: 1_000 },
        clientErrorSurge: { percent: 40, minimumRequests: 9 },
      },
    }),
  );
  const called = (name: string) => tuned.find(({ AlarmName }) => AlarmName === `token-broker-${name}-test`);

  it('rings when the settings say so', () => {
    expect(called('denied-caller-surge')).toMatchObject({
      Threshold: 7,
      Period: 120,
      EvaluationPeriods: 4,
      DatapointsToAlarm: 3,
    });
    expect(called('client-error-surge')).toMatchObject({ Threshold: 40 });
    expect(JSON.stringify(called('client-error-surge'))).toContain('requests >= 9');
  });

  it('allows a call what the slowest service may take, and some more', () => {
    expect(called('p99-duration')).toMatchObject({ Threshold: 5_000, ExtendedStatistic: 'p99' });
  });
});

describe('the alarms of a new version', () => {
  const synthesised = synthesiseMonitoring();
  const ofVersion = alarmsOf(synthesised).filter(({ AlarmName }) => AlarmName.startsWith('token-broker-new-version-'));
  const idOf = (type: string) => resourceOf(synthesised, '', type).id;

  it('count what that version does with the calls of the alias, and nothing of the one before', () => {
    const version = { 'Fn::GetAtt': [idOf('AWS::Lambda::Version'), 'Version'] };
    expect(ofVersion).toHaveLength(3);
    for (const { Namespace, Dimensions } of ofVersion) {
      const values = new Map(Dimensions.map(({ Name, Value }: Dimension) => [Name, Value]));
      expect(values.get(Namespace === 'TokenBroker' ? 'version' : 'ExecutedVersion')).toEqual(version);
    }
  });

  it('do not wait for the alias, whose deployment waits for them', () => {
    expect(JSON.stringify(ofVersion)).not.toContain(idOf('AWS::Lambda::Alias'));
  });

  it('tell nobody: what they count is counted by alarms that do', () => {
    for (const { AlarmActions, Namespace, MetricName } of ofVersion) {
      expect(AlarmActions).toBeUndefined();
      const others = alarmsOf(synthesised).filter(({ AlarmActions: actions }) => actions !== undefined);
      expect(others).toContainEqual(expect.objectContaining({ Namespace, MetricName }));
    }
  });
});

interface Dimension {
  readonly Name: string;
  readonly Value: unknown;
}

function alarmCalled(name: string) {
  return alarms.find(({ AlarmName }) => AlarmName === name);
}

function alarmsOf(synthesised: Parameters<typeof resourcesOf>[0]) {
  return resourcesOf(synthesised, 'AWS::CloudWatch::Alarm').map(({ Properties }) => Properties);
}
