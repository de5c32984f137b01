import { simulateDay } from '../../../bench/day/day.ts';
import type { Outcome } from '../../../bench/day/outcome.ts';
import type { Scale, Way } from '../../../bench/day/world.ts';

/** A day of 200 instances and 100 pairs, but for the changes. */
export function simulated(way: Way, changes: Partial<Scale> = {}): Promise<Outcome> {
  return simulateDay(way, { instances: 200, pairs: 100, hours: 24, seed: 25, calm: false, faults: false, ...changes });
}
