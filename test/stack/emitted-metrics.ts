import { createAuditLog, createUnreadableLog } from '../../functions/aws/log/audit-log.ts';
import { createHealthLog } from '../../functions/aws/log/health-log.ts';
import type { Warning } from '../../functions/broker/audit.ts';
import { FINDINGS, PROBLEMS, type ProblemType } from '../../functions/contract.ts';
import { IGNORED_EVENTS, UNREADABLE } from '../../lib/monitoring/dashboard.ts';
import { pointsOf } from '../support/cloudwatch/metric-points.ts';

const WARNINGS = {
  'shared-cache-unavailable': true,
  'secret-stale': true,
  rejected: true,
  'previous-version': true,
  'credential-echoed': true,
  'same-token-again': true,
} satisfies Record<Warning, true>;

/** Every metric that the functions of an environment write, by making their logs write lines of every kind. */
export function emittedMetrics(services: readonly string[]): ReturnType<typeof pointsOf> {
  const lines: string[] = [];
  const wiring = {
    environment: 'test',
    services: new Set(services),
    now: () => 0,
    write: (line: string) => void lines.push(line),
  };
  const audit = createAuditLog({ ...wiring, version: '1' });
  const health = createHealthLog(wiring);
  const unreadable = createUnreadableLog(wiring);
  const problems = Object.keys(PROBLEMS) as ProblemType[];
  const warnings = new Set(Object.keys(WARNINGS) as Warning[]);

  for (const service of [...services, 'unknown']) {
    const pair = { client: 'acme', service };
    for (const outcome of ['issued', ...problems] as const) {
      const record = { requestId: '1', outcome, milliseconds: 1, pair, cause: new Error() };
      audit({ ...record, trace: { tokenRequests: 0, warnings } });
    }
  }
  for (const service of services) {
    const pair = { client: 'acme', service };
    for (const finding of FINDINGS) {
      health.check({ pair, milliseconds: 1, answer: { kind: 'checked', finding, provenBy: 'request', checkedAt: 0 } });
    }
    health.check({ pair, milliseconds: 1, answer: { kind: 'failed', failure: 'internal', retryable: false } });
    for (const reason of UNREADABLE) unreadable(reason, pair);
  }
  for (const reason of IGNORED_EVENTS) health.ignored(reason);
  health.run({
    clients: 0,
    checked: [],
    missed: [],
    ignored: [],
    unknown: [],
    incidents: [],
    probe: { condition: 'denied', said: 'access-denied' },
    reported: { sent: 0, unsent: 0, failures: [] },
    hasSubscriber: true,
    milliseconds: 1,
  });
  return pointsOf(lines);
}
