import type { Environment } from './environment.ts';
import type { Sandbox } from './sandbox.ts';
import { HOUR_MS, type World } from './world.ts';

/** What a caller finds behind the Function URL. */
export interface FunctionFleet {
  /** Runs one invocation in some environment, as often as it takes until one has answered. */
  invoke<Answer>(work: (environment: Environment) => Promise<Answer>): Promise<Answer>;
}

/**
 * The environments of the token function. Each takes one invocation at a time, is frozen in between, and is replaced
 * after a while by a cold one. Any idle one may get the next invocation: the worst that routing can do to memories.
 */
export function createFunctionFleet(world: World, startEnvironment: () => Environment): FunctionFleet {
  const { clock, tally, scale } = world;
  const { uniform, chance, index, exponential, logNormal } = world.random('function fleet');
  const places: Place[] = Array.from({ length: scale.environments }, () => ({ isBusy: false, endsAt: 0 }));
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

  async function runIn<Answer>(
    place: Place,
    work: (environment: Environment) => Promise<Answer>,
  ): Promise<Run<Answer>> {
    const startedAt = clock.now();
    tally.invocations += 1;
    place.isBusy = true;
    busy += 1;
    try {
      const environment = await environmentIn(place);
      environment.sandbox.thaw();
      return await untilCrash(place, environment.sandbox, work(environment));
    } finally {
      place.environment?.sandbox.freeze();
      place.isBusy = false;
      busy -= 1;
      tally.billedMs += Math.ceil(clock.now() - startedAt + CODE_MS);
    }
  }

  async function environmentIn(place: Place): Promise<Environment> {
    if (place.environment !== undefined && clock.now() < place.endsAt) return place.environment;
    tally.coldStarts += 1;
    await clock.sleep(logNormal(INIT_MS, INIT_SPREAD));
    place.environment = startEnvironment();
    place.endsAt = clock.now() + exponential(MEAN_LIFE_MS);
    return place.environment;
  }

  /** A crashed environment never answers; its caller is told so. */
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
        place.environment = undefined;
        resolve({ isCrashed: true });
      });
    });
  }
}

/** Where one environment can be. */
interface Place {
  environment?: Environment | undefined;
  endsAt: number;
  isBusy: boolean;
}

type Run<Answer> = { readonly isCrashed: false; readonly answer: Answer } | { readonly isCrashed: true };

/** Lambda replaces environments after some hours, however busy they are. */
const MEAN_LIFE_MS = 2 * HOUR_MS;
const INIT_MS = 250;
const INIT_SPREAD = 0.2;
/** What the code itself computes for an answer, at the 0.29 vCPU of 512 MB. */
const CODE_MS = 3;

/** Of all invocations. */
const CRASH_SHARE = 1e-4;
const CRASH_WITHIN_MS = 300;

const FIRST_BACKOFF_MS = 100;
const MAX_BACKOFF_MS = 5_000;
