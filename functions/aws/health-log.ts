import type { CheckRecord, HealthRun } from '../broker/health-run.ts';
import type { MissedPair } from '../broker/health-walk.ts';
import { pairKey } from '../broker/pair.ts';

interface Dependencies {
  readonly environment: string;
  readonly now: () => number;
  readonly write: (line: string) => void;
}

/**
 * Writes one line per check and one per run, each a CloudWatch EMF document as well; see `audit-log.ts`. A run's metrics
 * also stand under the environment alone, for the alarms: whatever came of a run, it has shown that there are runs.
 */
export function createHealthLog({ environment, now, write }: Dependencies) {
  const writeLine = (line: object) => write(`${JSON.stringify(line)}\n`);

  return {
    check({ pair, answer, milliseconds }: CheckRecord): void {
      writeLine({
        _aws: emf(now(), [BY_OUTCOME], CHECK_METRICS),
        environment,
        service: pair.service,
        outcome: answer.kind === 'checked' ? answer.finding : 'failed',
        Findings: answer.kind === 'checked' ? 1 : 0,
        CheckFailures: answer.kind === 'failed' ? 1 : 0,
        CheckDuration: milliseconds,
        operation: 'health',
        pair: pairKey(pair),
        ...answer,
      });
    },

    run({ clients, checked, missed, ignored, unknown, probe, reported, milliseconds }: HealthRun): void {
      writeLine({
        _aws: emf(now(), [['environment'], BY_OUTCOME], RUN_METRICS),
        environment,
        service: 'none',
        outcome: missed.length === 0 ? 'complete' : 'incomplete',
        Heartbeat: 1,
        RunDuration: milliseconds,
        PairsChecked: checked.length,
        PairsNotReached: missed.length,
        PairsFailed: missed.filter(({ reason }) => reason === 'failed').length,
        Notifications: reported.sent,
        NotificationFailures: Math.max(reported.unsent, reported.failures.length),
        ProbeNotDenied: probe.condition === 'denied' ? 0 : 1,
        operation: 'health',
        clients,
        probe: probe.said,
        notReached: notReached(missed),
        unknownServices: unknown.slice(0, MAX_NAMES).map(pairKey),
        ignoredSecrets: ignored.slice(0, MAX_NAMES),
        failures: [...new Set(reported.failures)],
      });
    },
  };
}

function emf(timestamp: number, dimensions: readonly (readonly string[])[], metrics: readonly Metric[]) {
  return {
    Timestamp: timestamp,
    CloudWatchMetrics: [{ Namespace: 'TokenBroker', Dimensions: dimensions, Metrics: metrics }],
  };
}

interface Metric {
  readonly Name: string;
  readonly Unit: 'Count' | 'Milliseconds';
}

const BY_OUTCOME = ['environment', 'service', 'outcome'];

const CHECK_METRICS: readonly Metric[] = [
  { Name: 'Findings', Unit: 'Count' },
  { Name: 'CheckFailures', Unit: 'Count' },
  { Name: 'CheckDuration', Unit: 'Milliseconds' },
];

const RUN_METRICS: readonly Metric[] = [
  { Name: 'Heartbeat', Unit: 'Count' },
  { Name: 'RunDuration', Unit: 'Milliseconds' },
  { Name: 'PairsChecked', Unit: 'Count' },
  { Name: 'PairsNotReached', Unit: 'Count' },
  { Name: 'PairsFailed', Unit: 'Count' },
  { Name: 'Notifications', Unit: 'Count' },
  { Name: 'NotificationFailures', Unit: 'Count' },
  { Name: 'ProbeNotDenied', Unit: 'Count' },
];

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
