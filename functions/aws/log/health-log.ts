import type { CheckRecord, MissedPair } from '../../broker/health/check-pairs.ts';
import type { HealthRun } from '../../broker/health/run.ts';
import { pairKey } from '../../broker/pair/pair.ts';
import type { IgnoredEvent } from '../secret-event.ts';
import { BY_ENVIRONMENT, BY_OUTCOME, BY_SERVICE, BY_SERVICE_AND_OUTCOME, emfLine, type MetricSet } from './emf.ts';

interface Dependencies {
  readonly environment: string;
  readonly now: () => number;
  readonly write: (line: string) => void;
}

/** Writes one line per check, of a run or upon an event, one per run and one per event that is ignored, with their metrics. */
export function createHealthLog({ environment, now, write }: Dependencies) {
  return {
    check({ pair, answer, milliseconds, promoted }: CheckRecord): void {
      const line = {
        environment,
        service: pair.service,
        outcome: answer.kind === 'checked' ? answer.finding : 'failed',
        Findings: answer.kind === 'checked' ? 1 : 0,
        CheckFailures: answer.kind === 'failed' ? 1 : 0,
        CheckDuration: milliseconds,
        operation: 'health',
        pair: pairKey(pair),
        ...(promoted !== undefined && { promoted }),
        ...answer,
      };
      write(emfLine(now(), CHECK_METRICS, line));
    },

    run(run: HealthRun): void {
      const { clients, checked, missed, ignored, unknown, incidents, probe, reported, milliseconds } = run;
      const line = {
        environment,
        outcome: missed.length === 0 ? 'complete' : 'incomplete',
        Heartbeat: 1,
        RunDuration: milliseconds,
        PairsChecked: checked.length,
        PairsNotReached: missed.length,
        PairsFailed: missed.filter(({ reason }) => reason === 'failed').length,
        PairsRejected: checked.filter(({ finding }) => finding === 'rejected').length,
        ServiceIncidents: incidents.length,
        Notifications: reported.sent,
        NotificationFailures: Math.max(reported.unsent, reported.failures.length),
        ProbeNotDenied: probe.condition === 'denied' ? 0 : 1,
        operation: 'health',
        clients,
        probe: probe.said,
        incidents,
        notReached: notReached(missed),
        unknownServices: unknown.slice(0, MAX_NAMES).map(pairKey),
        ignoredSecrets: ignored.slice(0, MAX_NAMES),
        failures: [...new Set(reported.failures)],
      };
      write(emfLine(now(), RUN_METRICS, line));
    },

    ignored(reason: IgnoredEvent): void {
      const line = { environment, service: 'none', outcome: reason, IgnoredEvents: 1, operation: 'health' };
      write(emfLine(now(), IGNORED_METRICS, line));
    },
  };
}

const CHECK_METRICS: readonly MetricSet[] = [
  { by: [BY_SERVICE_AND_OUTCOME], counts: ['Findings'] },
  { by: [BY_SERVICE], counts: ['CheckFailures'], milliseconds: ['CheckDuration'] },
];

const RUN_METRICS: readonly MetricSet[] = [
  {
    by: [BY_ENVIRONMENT],
    counts: [
      'Heartbeat',
      'PairsChecked',
      'PairsNotReached',
      'PairsFailed',
      'PairsRejected',
      'ServiceIncidents',
      'Notifications',
      'NotificationFailures',
      'ProbeNotDenied',
    ],
    milliseconds: ['RunDuration'],
  },
];

const IGNORED_METRICS: readonly MetricSet[] = [{ by: [BY_OUTCOME], counts: ['IgnoredEvents'] }];

/** At most 200 for each reason: a line of the log ends at 256 kB, and `PairsNotReached` tells how many there are. */
function notReached(missed: readonly MissedPair[]) {
  const names = (reason: MissedPair['reason']) =>
    missed.filter((pair) => pair.reason === reason).map(({ pair }) => pairKey(pair));
  return {
    outOfTime: names('out-of-time').slice(0, MAX_NAMES),
    sampled: names('sampled').slice(0, MAX_NAMES),
    failed: names('failed').slice(0, MAX_NAMES),
  };
}

const MAX_NAMES = 200;
