import { HOUR_MS } from '../../example.ts';
import type { Instance } from '../fleet.ts';
import type { Day } from './world.ts';

/** Runs one call in an idle instance, and repeats it until an instance has answered. */
export type Invoke = <Answer>(work: (host: Instance) => Promise<Answer>) => Promise<Answer>;

/**
 * The token function as a caller of its URL sees it. Each instance takes one call at a time, is frozen in between, and is
 * replaced after a while by a cold one. Any idle one may get the next call: the worst that routing can do to memories.
 */
export function createInvoke({ scale, model, clock, tally, random }: Day): Invoke {
  const { uniform, chance, index, exponential, logNormal } = random('function');
  const counts = tally.function;
  const places = Array.from({ length: scale.instances }, (): Place => ({ isBusy: false, endsAt: 0 }));
  let busy = 0;

  return async (work) => {
    for (let tries = 0; ; tries += 1) {
      const place = findIdle();
      if (place === undefined) counts.throttled += 1;
      else {
        const answer = await runIn(place, work);
        if (answer !== CRASHED) return answer;
      }
      // As the SDKs do: full jitter.
      await clock.sleep(uniform() * Math.min(MAX_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** tries));
    }
  };

  function findIdle(): Place | undefined {
    if (busy === places.length) return undefined;
    let n = index(places.length);
    while (places[n]?.isBusy) n = (n + 1) % places.length;
    return places[n];
  }

  async function runIn<Answer>(
    place: Place,
    work: (host: Instance) => Promise<Answer>,
  ): Promise<Answer | typeof CRASHED> {
    const startedAt = clock.now();
    counts.invocations += 1;
    place.isBusy = true;
    busy += 1;
    const host = await hostIn(place);
    host.thaw();
    const answer = await untilCrash(host, work(host));
    host.freeze();
    place.isBusy = false;
    busy -= 1;
    tally.billedMs += Math.ceil(clock.now() - startedAt + CODE_MS);
    return answer;
  }

  async function hostIn(place: Place): Promise<Instance> {
    const { host } = place;
    if (host !== undefined && !host.isDead() && clock.now() < place.endsAt) return host;
    if (host !== undefined) model.retire(host);
    counts.coldStarts += 1;
    await clock.sleep(logNormal(INIT_MS, INIT_SPREAD));
    place.host = model.start(0);
    place.endsAt = clock.now() + exponential(MEAN_LIFE_MS);
    return place.host;
  }

  /** The caller of an instance that crashes is told so. */
  function untilCrash<Answer>(host: Instance, answer: Promise<Answer>): Promise<Answer | typeof CRASHED> {
    if (scale.calm || !chance(CRASH_SHARE)) return answer;
    let isOver = false;
    const crash = async () => {
      await clock.sleep(uniform() * CRASH_WITHIN_MS);
      if (isOver) return answer;
      counts.crashes += 1;
      model.kill(host);
      return CRASHED;
    };
    void answer.finally(() => {
      isOver = true;
    });
    return Promise.race([answer, crash()]);
  }
}

/** Where one instance can be. */
interface Place {
  host?: Instance;
  endsAt: number;
  isBusy: boolean;
}

const CRASHED = Symbol('crashed');

/** Lambda replaces instances after some hours, however busy they are. */
const MEAN_LIFE_MS = 2 * HOUR_MS;
const INIT_MS = 250;
const INIT_SPREAD = 0.2;
/** Computing time of an answer, at the 0.29 vCPU of 512 MB. */
const CODE_MS = 3;

/** Of all calls. */
const CRASH_SHARE = 1e-4;
const CRASH_WITHIN_MS = 300;

const FIRST_BACKOFF_MS = 100;
const MAX_BACKOFF_MS = 5_000;
