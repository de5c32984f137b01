import { GOALS, type Goal } from './goals.ts';
import type { Samples } from './samples.ts';

/** A goal that was not reached. */
export interface Missed {
  readonly id: string;
  readonly name: string;
  /** By how much, in words. */
  readonly by: string;
  /** What was measured on either side. */
  readonly parts: string;
  readonly why: string;
}

/** Of every goal that is missed, by how much and why. */
export function missedOf(samples: Samples, goals: readonly Goal[]): readonly Missed[] {
  return goals.flatMap(({ id, value, goal, met }) => {
    const definition = GOALS.find((each) => each.id === id);
    if (met || definition === undefined) return [];
    const { name, parts, why } = definition;
    const by = goal === 0 ? `${value}` : `${(100 * (value / goal - 1)).toFixed(1)} %`;
    return { id, name, by, parts: parts(samples), why };
  });
}
