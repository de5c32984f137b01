import type { Audit, AuditRecord, Remark } from '../broker/audit.ts';
import type { Pair } from '../broker/pair.ts';
import type { Unreadable } from './pair-table.ts';

interface Dependencies {
  readonly environment: string;
  /** Service names are a metric dimension only when they are configured: what a caller makes up must not become a metric. */
  readonly services: ReadonlySet<string>;
  readonly now: () => number;
  readonly write: (line: string) => void;
}

/**
 * Writes each record as one JSON line that is a CloudWatch EMF document as well. `write` is `process.stdout.write`:
 * what `console.log` prints is nested by Lambda's JSON log format, and no metric appears.
 *
 * @see https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html
 */
export function createAuditLog({ environment, services, now, write }: Dependencies): Audit {
  return (record) => {
    const { requestId, operation, outcome, milliseconds, caller, pair, cache, trace, cause, ...proof } = record;
    const remarks = [...trace.remarks];
    const line = {
      _aws: { Timestamp: now(), CloudWatchMetrics: metrics([...METRICS, ...remarks.map(remarkMetric)]) },
      environment,
      service: pair !== undefined && services.has(pair.service) ? pair.service : 'none',
      outcome,
      Requests: 1,
      Duration: milliseconds,
      CacheHits: cache === 'memory' || cache === 'shared' ? 1 : 0,
      TokenRequests: trace.tokenRequests,
      ...Object.fromEntries(remarks.map((remark) => [REMARK_METRICS[remark], 1])),
      requestId,
      operation,
      caller: caller && `${caller.partition}:${caller.account}:${caller.role}/${caller.session}`,
      pair: pair && `${pair.client}/${pair.service}`,
      cache,
      ...proof,
      remarks,
      cause: describeCause(cause),
    };
    write(`${JSON.stringify(line)}\n`);
  };
}

/** Writes one line each time that a shared record is found without a token that can be opened, although it holds one. */
export function createUnreadableLog({ environment, now, write }: Dependencies) {
  return (reason: Unreadable, pair: Pair): void => {
    const line = {
      _aws: { Timestamp: now(), CloudWatchMetrics: UNREADABLE_METRICS },
      environment,
      service: pair.service,
      outcome: reason,
      UnreadableRecords: 1,
      pair: `${pair.client}/${pair.service}`,
    };
    write(`${JSON.stringify(line)}\n`);
  };
}

const METRICS: readonly Metric[] = [
  { Name: 'Requests', Unit: 'Count' },
  { Name: 'Duration', Unit: 'Milliseconds' },
  { Name: 'CacheHits', Unit: 'Count' },
  { Name: 'TokenRequests', Unit: 'Count' },
];

/** What an operator is told by an alarm rather than by reading lines. */
const REMARK_METRICS = {
  'shared-cache-unavailable': 'SharedCacheUnavailable',
  'secret-stale': 'SecretStale',
  rejected: 'CredentialRejected',
  'previous-version': 'PreviousVersionUsed',
  'refusal-idle': 'RefusalIdle',
  'assumed-lifetime-halved': 'AssumedLifetimeHalved',
} as const satisfies Record<Remark, string>;

function remarkMetric(remark: Remark): Metric {
  return { Name: REMARK_METRICS[remark], Unit: 'Count' };
}

const UNREADABLE_METRICS = metrics([{ Name: 'UnreadableRecords', Unit: 'Count' }]);

interface Metric {
  readonly Name: string;
  readonly Unit: 'Count' | 'Milliseconds';
}

function metrics(definitions: readonly Metric[]) {
  return [{ Namespace: 'TokenBroker', Dimensions: [['environment', 'service', 'outcome']], Metrics: definitions }];
}

/** Where an unexpected error came from, without its message: a message may quote what it stumbled over. */
function describeCause(cause: AuditRecord['cause']) {
  if (!(cause instanceof Error)) return typeof cause === 'string' ? cause : undefined;
  // Behind the message only: a line of the message can look like a frame.
  const { stack = '', message } = cause;
  const behind = stack.indexOf(message) === -1 ? '' : stack.slice(stack.indexOf(message) + message.length);
  const frames = behind.split('\n').filter((line) => line.startsWith('    at '));
  return { name: cause.name, at: frames.slice(0, 8).map((frame) => frame.trim()) };
}
