import type { Goal as SimulationGoal } from '../fleet/goal.ts';
import type { Variant } from './bundles.ts';
import type { ColdStart } from './cold-start.ts';
import type { FleetWaves } from './fleet-waves.ts';
import type { Hits } from './memory-hits.ts';

/** Everything that one run has measured; what it could not measure is missing. */
export interface Samples {
  readonly node: string;
  readonly runtimeClient: string;
  /** How many processors the machine has, and how many it would have needed in the last minutes. */
  readonly processors: number;
  readonly load: number;
  /** The first one, in which files come from the disk, is not among them. */
  readonly rounds: readonly Round[];
  readonly hits: readonly Hits[];
  readonly bundleBytes: number;
  readonly fleet?: FleetWaves | undefined;
  readonly simulated?: SimulationGoal | undefined;
}

/** The cold starts of all variants, close to each other in time. */
export interface Round {
  readonly full: ColdStarts;
  /** With the share of a processor that 512 MB have, for the invocation. */
  readonly limited?: ColdStarts | undefined;
  /** Of the broker, first reads excluded. */
  readonly initWithoutReadsMs: number;
}

export type ColdStarts = Readonly<Record<Variant, ColdStart>>;
