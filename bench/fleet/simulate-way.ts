import { START } from '../../test/support/example.ts';
import { startCallers } from './callers.ts';
import { EventClock } from './event-clock.ts';
import { startHealthChecks, startRotations } from './operators.ts';
import { createRandom } from './random.ts';
import { createSecretStore } from './secret-store.ts';
import { createSharedTable } from './shared-table.ts';
import { newTally, type Tally } from './tally.ts';
import { createTokenServices } from './token-services.ts';
import { createBrokerWay } from './with-broker.ts';
import { createDirectWay } from './without-broker.ts';
import { createPairs, HOUR_MS, type Scale, type World } from './world.ts';

/** How callers come to their tokens. */
export type Way = (typeof WAYS)[number];

export const WAYS = ['broker', 'memory-only', 'no-broker'] as const;

/** The counts of a simulation so far, and the time that they cover. */
export interface Course {
  readonly tally: Tally;
  readonly elapsedMs: number;
}

interface Progress {
  /** Asked now and then: `true` ends the simulation early. */
  readonly isStopped?: (simulatedMs: number) => boolean;
}

/** Lets the same world go its way with the broker, with a broker without the shared table, or without any. */
export async function simulateWay(way: Way, scale: Scale, { isStopped = () => false }: Progress = {}): Promise<Course> {
  const clock = new EventClock(START);
  const tally = newTally();
  const world: World = { scale, clock, tally, random: (purpose) => createRandom(scale.seed, purpose) };
  const pairs = createPairs(scale.pairs);
  const secretStore = createSecretStore(world);
  const tokenServices = createTokenServices(world);
  const surroundings = { secretStore, tokenServices };

  if (way === 'no-broker') {
    startRotations(world, pairs, secretStore);
    startCallers(world, pairs, createDirectWay(world, surroundings));
  } else {
    const sharedTable = way === 'broker' ? createSharedTable(world) : undefined;
    const { obtain, check } = createBrokerWay(world, { ...surroundings, sharedTable });
    startRotations(world, pairs, secretStore, check);
    startHealthChecks(world, pairs, check);
    startCallers(world, pairs, obtain);
  }

  await clock.run(START + scale.hours * HOUR_MS, () => isStopped(clock.now() - START));
  return { tally, elapsedMs: clock.now() - START };
}
