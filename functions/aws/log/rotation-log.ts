import type { RotationRecord } from '../../broker/health/rotation.ts';
import { pairKey } from '../../broker/pair/pair.ts';
import { BY_OUTCOME, BY_SERVICE, BY_SERVICE_AND_OUTCOME, emfLine, type MetricSet } from './emf.ts';

interface Dependencies {
  readonly environment: string;
  readonly now: () => number;
  readonly write: (line: string) => void;
}

/** Why an event led to no check: it concerns somebody else, cannot be read, or its client has no pairs (any more). */
export type Ignored = 'foreign' | 'malformed' | 'no-pairs';

/** Writes what the rotation function did, one JSON line each, with its metrics. */
export function createRotationLog({ environment, now, write }: Dependencies) {
  const writeLine = (metrics: readonly MetricSet[], line: object) =>
    write(emfLine(now(), metrics, { environment, ...line }));

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

const CHECK_METRICS: readonly MetricSet[] = [
  { by: [BY_SERVICE_AND_OUTCOME], counts: ['RotationChecks'] },
  { by: [BY_SERVICE], milliseconds: ['RotationDuration'] },
];

const EVENT_METRICS: readonly MetricSet[] = [{ by: [BY_OUTCOME], counts: ['IgnoredEvents'] }];
