import { HOUR_MS } from '../../test/support/example.ts';
import type { Instance } from '../../test/support/fleet/fleet.ts';
import type { Day } from './world.ts';

/** Runs one call in an idle instance. */
export type Invoke = <Answer>(work: (host: Instance) => Promise<Answer>) => Promise<Answer>;

/**
 * The token function as its callers see it. Each instance takes one call at a time, is frozen in between, and is replaced after
 * a while by a cold one. Any idle one may get the next call, the worst that routing can do to memories; calls wait for one.
 */
export function createInvoke({ scale, model, clock, tally, random, around }: Day): Invoke {
  const uniform = random('function');
  const idle = Array.from({ length: scale.instances }, (): Place => ({ endsAt: 0 }));
  const queue: ((place: Place) => void)[] = [];

  return async (work) => {
    const place = idle.pop() ?? (await new Promise<Place>((take) => queue.push(take)));
    const startedAt = clock.now();
    const host = await hostIn(place);
    host.setFrozen(false);
    const answer = await work(host);
    host.setFrozen(true);
    tally.function.invocations += 1;
    tally.billedMs += Math.ceil(clock.now() - startedAt + CODE_MS);
    const next = queue.shift() ?? shuffleIn;
    next(place);
    return answer;
  };

  /** At a random place of the others, so that any idle one comes next. */
  function shuffleIn(place: Place): void {
    const n = Math.floor(uniform() * idle.length);
    idle.push(idle[n] ?? place);
    idle[n] = place;
  }

  async function hostIn(place: Place): Promise<Instance> {
    if (place.host !== undefined && clock.now() < place.endsAt) return place.host;
    if (place.host !== undefined) model.retire(place.host);
    tally.function.coldStarts += 1;
    await clock.sleep(around(INIT_MS));
    place.host = model.start(0);
    place.endsAt = clock.now() + 2 * uniform() * MEAN_LIFE_MS;
    return place.host;
  }
}

/** Where one instance can be. */
interface Place {
  host?: Instance;
  endsAt: number;
}

/** Lambda replaces instances after some hours, however busy they are. */
const MEAN_LIFE_MS = 2 * HOUR_MS;
const INIT_MS = 250;
/** Computing time of an answer, at the 0.29 vCPU of 512 MB. */
const CODE_MS = 3;
