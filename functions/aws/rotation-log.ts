import { pairKey } from '../broker/pair.ts';
import type { RotationRecord } from '../broker/rotation.ts';

interface Dependencies {
  readonly environment: string;
  readonly now: () => number;
  readonly write: (line: string) => void;
}

/** Why an event led to no check: it concerns somebody else, cannot be read, or its client has no pairs (any more). */
export type Ignored = 'foreign' | 'malformed' | 'no-pairs';

/** Writes what the rotation function did, one JSON line each, which are CloudWatch EMF documents as well. */
export function createRotationLog({ environment, now, write }: Dependencies) {
  const writeLine = (metrics: readonly Metric[], line: object) => {
    const CloudWatchMetrics = [
      { Namespace: 'TokenBroker', Dimensions: [['environment', 'service', 'outcome']], Metrics: metrics },
    ];
    write(`${JSON.stringify({ _aws: { Timestamp: now(), CloudWatchMetrics }, environment, ...line })}\n`);
  };

  return {
    record({ pair, promoted, answer, milliseconds }: RotationRecord): void {
      writeLine(CHECK_METRICS, {
        service: pair.service,
        outcome: answer.kind === 'checked' ? answer.finding : 'failed',
        RotationChecks: 1,
        RotationDuration: milliseconds,
        operation: 'rotation',
        pair: pairKey(pair),
        promoted,
        ...answer,
      });
    },

    ignore(reason: Ignored): void {
      writeLine(EVENT_METRICS, { service: 'none', outcome: reason, IgnoredEvents: 1, operation: 'rotation' });
    },
  };
}

interface Metric {
  readonly Name: string;
  readonly Unit: string;
}

const CHECK_METRICS: readonly Metric[] = [
  { Name: 'RotationChecks', Unit: 'Count' },
  { Name: 'RotationDuration', Unit: 'Milliseconds' },
];

const EVENT_METRICS: readonly Metric[] = [{ Name: 'IgnoredEvents', Unit: 'Count' }];
