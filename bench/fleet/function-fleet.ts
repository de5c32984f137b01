import type { Instance } from './instance.ts';
import type { Sandbox } from './sandbox.ts';
import { HOUR_MS, type World } from './world.ts';

/** The function as a caller of its URL sees it. */
export interface FunctionFleet {
  /** Runs one invocation in an idle instance, and repeats it until an instance has answered. */
  invoke<Answer>(work: (instance: Instance) => Promise<Answer>): Promise<Answer>;
}

/**
 * The instances of the token function. Each takes one invocation at a time, is frozen in between, and is replaced
 * after a while by a cold one. Any idle one may get the next invocation: the worst that routing can do to memories.
 */
export function createFunctionFleet(world: World, startInstance: () => Instance): FunctionFleet {
  const { clock, tally, scale } = world;
  const { uniform, chance, index, exponential, logNormal } = world.random('function fleet');
  const places: Place[] = Array.from({ length: scale.instances }, () => ({ isBusy: false, endsAt: 0 }));
  const crashShare = scale.calm ? 0 : CRASH_SHARE;
  let busy = 0;

  return {
    async invoke(work) {
      for (let tries = 0; ; tries += 1) {
        const place = findIdle();
        if (place === undefined) tally.throttled += 1;
        else {
          const run = await runIn(place, work);
          if (!run.isCrashed) return run.answer;
        }
        // As the SDKs do: full jitter.
        await clock.sleep(uniform() * Math.min(MAX_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** tries));
      }
    },
  };

  function findIdle(): Place | undefined {
    if (busy === places.length) return undefined;
    const start = index(places.length);
    for (let n = 0; n < places.length; n += 1) {
      const place = places[(start + n) % places.length];
      if (place?.isBusy === false) return place;
    }
    return undefined;
  }

  async function runIn<Answer>(place: Place, work: (instance: Instance) => Promise<Answer>): Promise<Run<Answer>> {
    const startedAt = clock.now();
    tally.invocations += 1;
    place.isBusy = true;
    busy += 1;
    try {
      const instance = await instanceIn(place);
      instance.sandbox.thaw();
      return await untilCrash(place, instance.sandbox, work(instance));
    } finally {
      place.instance?.sandbox.freeze();
      place.isBusy = false;
      busy -= 1;
      tally.billedMs += Math.ceil(clock.now() - startedAt + CODE_MS);
    }
  }

  async function instanceIn(place: Place): Promise<Instance> {
    if (place.instance !== undefined && clock.now() < place.endsAt) return place.instance;
    tally.coldStarts += 1;
    await clock.sleep(logNormal(INIT_MS, INIT_SPREAD));
    place.instance = startInstance();
    place.endsAt = clock.now() + exponential(MEAN_LIFE_MS);
    return place.instance;
  }

  /** A crashed instance never answers; its caller is told so. */
  function untilCrash<Answer>(place: Place, sandbox: Sandbox, answer: Promise<Answer>): Promise<Run<Answer>> {
    const answered = answer.then((value): Run<Answer> => ({ isCrashed: false, answer: value }));
    if (!chance(crashShare)) return answered;
    return new Promise((resolve, reject) => {
      let isOver = false;
      const end = () => {
        isOver = true;
      };
      answered.finally(end).then(resolve, reject);
      clock.after(uniform() * CRASH_WITHIN_MS, () => {
        if (isOver) return;
        tally.crashes += 1;
        sandbox.crash();
        place.instance = undefined;
        resolve({ isCrashed: true });
      });
    });
  }
}

/** Where one instance can be. */
interface Place {
  instance?: Instance | undefined;
  endsAt: number;
  isBusy: boolean;
}

type Run<Answer> = { readonly isCrashed: false; readonly answer: Answer } | { readonly isCrashed: true };

/** Lambda replaces instances after some hours, however busy they are. */
const MEAN_LIFE_MS = 2 * HOUR_MS;
const INIT_MS = 250;
const INIT_SPREAD = 0.2;
/** Computing time of an answer, at the 0.29 vCPU of 512 MB. */
const CODE_MS = 3;

/** Of all invocations. */
const CRASH_SHARE = 1e-4;
const CRASH_WITHIN_MS = 300;

const FIRST_BACKOFF_MS = 100;
const MAX_BACKOFF_MS = 5_000;
