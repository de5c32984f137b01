import { z } from 'zod';
import { createAuditLog, createUnreadableLog } from '../../../functions/aws/log/audit-log.ts';
import { createHealthLog } from '../../../functions/health/health-log.ts';
import {
  FINDINGS,
  IGNORED_EVENTS,
  PROBLEMS,
  type ProblemType,
  WARNING_METRICS,
  type Warning,
} from '../../../functions/vocabulary.ts';

/** Every metric that the functions of an environment write, by making their logs write lines of every kind. */
export function emittedMetrics(services: readonly string[]) {
  const lines: string[] = [];
  const write = (line: string) => void lines.push(line);
  const wiring = { environment: 'test', services: new Set(services), now: () => 0, write };
  const audit = createAuditLog({ ...wiring, version: '1' });
  const health = createHealthLog(wiring);
  const unreadable = createUnreadableLog(wiring);
  const problems = Object.keys(PROBLEMS) as ProblemType[];
  const warnings = new Set(Object.keys(WARNING_METRICS) as Warning[]);

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
    unreadable(pair);
  }
  for (const reason of IGNORED_EVENTS) health.ignored(reason);
  const checked = services.map((service) => {
    const pair = { client: 'acme', service };
    const proof = { finding: 'accepted', provenBy: 'request', checkedAt: 0, at: 0 } as const;
    return { pair, ...proof, credentialExpiresAt: '2027-03-01T00:00:00.000Z' };
  });
  const nothing = { clients: 0, missed: [], ignored: [], unknown: [], incidents: [], milliseconds: 1 };
  const probe = { condition: 'denied', said: 'access-denied' } as const;
  health.run({ ...nothing, checked, probe, reported: { sent: 0, unsent: 0, failures: [] }, hasSubscribers: true });
  return lines.flatMap(metricsOf);
}

/** The metrics that CloudWatch reads in a line; throws for a line that breaks the embedded metric format. */
function metricsOf(line: string) {
  const { _aws, ...members } = document.parse(JSON.parse(line));
  return _aws.CloudWatchMetrics.flatMap(({ Namespace: namespace, Dimensions, Metrics }) =>
    Dimensions.flatMap((names) =>
      Metrics.map(({ Name: name }) => {
        z.number().parse(members[name]);
        const dimensions = Object.fromEntries(names.map((one) => [one, dimensionValue.parse(members[one])]));
        return { namespace, name, dimensions };
      }),
    ),
  );
}

const dimensionValue = z.string().min(1).max(1_024);

/** @see https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html */
const metric = z.strictObject({ Name: z.string().min(1), Unit: z.enum(['Count', 'Milliseconds']) });
const directive = z.strictObject({
  Namespace: z.string().min(1),
  Dimensions: z.array(z.array(z.string()).max(30)).min(1),
  Metrics: z.array(metric).min(1).max(100),
});
const document = z.looseObject({ _aws: z.strictObject({ Timestamp: z.int(), CloudWatchMetrics: z.array(directive) }) });
