import { CONDITIONS, type Observation } from '../../functions/broker/health/evaluate.ts';
import type { Pair } from '../../functions/broker/pair/pair.ts';
import { START } from './example.ts';

/** One observation of everything that operators can be told about, and what it is about. */
export function everyObservation({ client, service }: Pair): readonly (readonly [string, Observation])[] {
  const look = { since: START, at: START };
  const all = CONDITIONS.flatMap((condition): Observation[] => {
    switch (condition) {
      case 'incident':
      case 'answering':
        return [
          { kind: 'service', service, condition, ...look },
          { kind: 'broker', condition, ...look },
        ];
      case 'denied':
      case 'not-denied':
      case 'unproven':
        return [{ kind: 'probe', condition, ...look }];
      default:
        return [{ kind: 'pair', pair: { client, service }, condition, ...look }];
    }
  });
  return all.map((observation) => [`${observation.kind} ${observation.condition}`, observation] as const);
}
