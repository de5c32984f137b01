import { type Pair, pairKey } from '../pair/pair.ts';
import type { Walk } from './check-pairs.ts';
import { type ProbeAnswer, probeObservation } from './probe.ts';
import {
  type BrokerObservation,
  isPairKey,
  type Judge,
  type Observation,
  type PairObservation,
} from './transitions.ts';

/** What a run found out beyond single services: about the broker, the probe, and pairs whose service nobody configured. */
export function judgeOverall({ walk, unknown, probe, at }: OverallFindings): Judge {
  const broker = observeBroker(walk, at);
  const isSameTrouble = broker?.condition === 'incident' && probe.condition === 'unproven';
  const observations: readonly Observation[] = [
    ...(broker === undefined ? [] : [broker]),
    // When nobody gets an answer of the broker, one message says so.
    ...(isSameTrouble ? [] : [probeObservation(probe, at)]),
    ...unknown.map((pair): PairObservation => ({ kind: 'pair', pair, condition: 'service-unknown', since: at, at })),
  ];
  const unknownKeys = new Set(unknown.map(pairKey));
  return () => ({ observations, forgets: (key) => isPairKey(key) && !unknownKeys.has(key) });
}

interface OverallFindings {
  readonly walk: Walk;
  readonly unknown: readonly Pair[];
  readonly probe: ProbeAnswer;
  /** Epoch milliseconds. */
  readonly at: number;
}

/** The broker is in trouble when it had something to say about no pair at all; `undefined` when nobody asked it. */
function observeBroker({ checked, missed }: Walk, at: number): BrokerObservation | undefined {
  const failures = missed.flatMap(({ failure }) => failure ?? []);
  if (checked.length > 0) return { kind: 'broker', condition: 'answering', since: at, at };
  if (failures.length === 0) return undefined;
  const counts = [...new Set(failures)]
    .toSorted()
    .map((word) => `${word} (${failures.filter((other) => other === word).length})`);
  return {
    kind: 'broker',
    condition: 'incident',
    since: at,
    at,
    detail: `No check brought a finding: ${counts.join(', ')}.`,
  };
}
