import { Duration } from 'aws-cdk-lib';
import { ComparisonOperator, TreatMissingData } from 'aws-cdk-lib/aws-cloudwatch';
import type { AlarmSettings } from '../settings/alarm-schema.ts';
import { type AlarmDefinition, zeroWhenSilent } from './alarm.ts';
import type { BrokerMetric } from './metrics.ts';

type HealthAlarm = 'latchActive' | 'serviceIncident' | 'healthSilent' | 'probeNotDenied';

/** What the runs of health find, and that there are runs. Each looks at whole intervals between two of them. */
export function healthAlarms(
  { latchActive, serviceIncident, healthSilent, probeNotDenied }: AlarmSettings,
  metric: BrokerMetric,
  intervalSeconds: number,
): Readonly<Record<HealthAlarm, AlarmDefinition | false>> {
  const period = Duration.seconds(intervalSeconds);
  const ofRuns = (metricName: string, threshold: number) => ({
    metric: metric(metricName, {}, { statistic: 'Maximum' }).with({ period }),
    threshold,
    comparison: ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
    periods: 1,
    breaching: 1,
    // Until a run says something else it is as the last one found it; for silence there is an alarm of its own.
    missing: TreatMissingData.IGNORE,
  });

  return {
    latchActive: latchActive && {
      ...ofRuns('PairsRejected', latchActive.threshold),
      means: 'Credentials are latched: their services rejected them, and they are not sent any more.',
      act: 'Find them with `client list` and follow "A rejected credential". It ends with the run of health that finds none.',
    },
    serviceIncident: serviceIncident && {
      ...ofRuns('ServiceIncidents', serviceIncident.threshold),
      means: 'A service answers hardly anybody.',
      act: 'Leave the credentials as they are and follow "A service incident".',
    },
    healthSilent: healthSilent && {
      ...ofRuns('Heartbeat', 1),
      metric: zeroWhenSilent(metric('Heartbeat'), period),
      comparison: ComparisonOperator.LESS_THAN_THRESHOLD,
      periods: healthSilent.intervals,
      breaching: healthSilent.intervals,
      missing: TreatMissingData.BREACHING,
      means: 'No run of health came to its end, so nobody knows whether the credentials work.',
      act: 'Look at the schedule and at the log of the health function.',
    },
    probeNotDenied: probeNotDenied && {
      ...ofRuns('ProbeNotDenied', 1),
      means: 'A role without an access rule was not refused by the broker, or could not try.',
      act: 'The message of health says which; until you know, take it for a breach and look at what was deployed last.',
    },
  };
}
