import {
  BY_ENVIRONMENT,
  BY_OUTCOME,
  BY_SERVICE,
  BY_SERVICE_AND_OUTCOME,
  emfLine,
  type Log,
  metrics,
} from '../aws/log/emf.ts';
import { pairKey } from '../broker/pair.ts';
import type { IgnoredEvent, MetricName } from '../vocabulary.ts';
import type { CheckedPair, CheckRecord, MissedPair } from './rules/check-pairs.ts';
import { DAY_MS } from './rules/evaluate.ts';
import type { HealthRun } from './rules/run.ts';

/** Writes a line with metrics for each check, each run and each ignored event. */
export function createHealthLog({ environment, now, write }: Log) {
  const writeLine = (definitions: string, members: object) =>
    write(emfLine(now(), definitions, { environment, operation: 'health', ...members }));

  return {
    check({ pair, answer, milliseconds, promoted }: CheckRecord): void {
      writeLine(CHECK_METRICS, {
        service: pair.service,
        outcome: answer.kind === 'checked' ? answer.finding : 'failed',
        Findings: answer.kind === 'checked' ? 1 : 0,
        CheckFailures: answer.kind === 'failed' ? 1 : 0,
        CheckDuration: milliseconds,
        pair: pairKey(pair),
        promoted,
        ...answer,
      });
    },

    run(run: HealthRun): void {
      const { clients, checked, missed, unknown, incidents, probe, reported, milliseconds } = run;
      const missedFor = (why: MissedPair['reason']) =>
        some(missed.filter(({ reason }) => reason === why).map(({ pair }) => pairKey(pair)));
      const counts: { readonly [name in MetricName]?: number } = {
        Heartbeat: 1,
        PairsChecked: checked.length,
        PairsNotReached: missed.length,
        PairsFailed: missed.filter(({ reason }) => reason === 'failed').length,
        PairsRejected: checked.filter(({ finding }) => finding === 'rejected').length,
        PairsExpiring: checked.filter((pair) => daysLeft(pair) <= 7).length,
        ServiceIncidents: incidents.length,
        Notifications: reported.sent,
        NotificationFailures: Math.max(reported.unsent, reported.failures.length),
        ProbeNotDenied: probe.condition === 'denied' ? 0 : 1,
        OperatorsUnreachable: run.hasSubscribers ? 0 : 1,
      };
      const names = Object.keys(counts) as MetricName[];
      writeLine(metrics({ by: [BY_ENVIRONMENT], counts: names, milliseconds: ['RunDuration'] }), {
        outcome: missed.length === 0 ? 'complete' : 'incomplete',
        ...counts,
        RunDuration: milliseconds,
        clients,
        probe: probe.said,
        incidents,
        notReached: { outOfTime: missedFor('out-of-time'), sampled: missedFor('sampled'), failed: missedFor('failed') },
        unknownServices: some(unknown.map(pairKey)),
        failures: [...new Set(reported.failures)],
      });
      for (const [service, pairs] of Map.groupBy(checked, ({ pair }) => pair.service)) {
        const DaysToExpiry = Math.min(...pairs.map(daysLeft).filter(Number.isFinite));
        if (Number.isFinite(DaysToExpiry)) writeLine(EXPIRY_METRICS, { service, outcome: 'expiring', DaysToExpiry });
      }
    },

    ignored(reason: IgnoredEvent): void {
      writeLine(IGNORED_METRICS, { service: 'none', outcome: reason, IgnoredEvents: 1 });
    },
  };
}

const CHECK_METRICS = [
  metrics({ by: [BY_SERVICE_AND_OUTCOME], counts: ['Findings'] }),
  metrics({ by: [BY_SERVICE], counts: ['CheckFailures'], milliseconds: ['CheckDuration'] }),
].join();
const IGNORED_METRICS = metrics({ by: [BY_OUTCOME], counts: ['IgnoredEvents'] });

const EXPIRY_METRICS = metrics({ by: [BY_SERVICE], counts: ['DaysToExpiry'] });

/** Returns the days until the credential expires, or NaN without an expiry. */
function daysLeft({ credentialExpiresAt = '', at }: CheckedPair): number {
  return (Date.parse(credentialExpiresAt) - at) / DAY_MS;
}

/** Shortens a list, because a log line is limited to 256 kB. `PairsNotReached` reports the full number. */
const some = (names: readonly string[]) => names.slice(0, 200);
