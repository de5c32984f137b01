import { measureColdStart, measureInitWithoutReads, type World } from './cold-start.ts';
import { whyNoCpuLimit } from './cpu-limit.ts';
import { type Hits, measureHits } from './memory-hits.ts';
import type { ColdStarts, Round, Samples } from './samples.ts';

interface Options {
  readonly rounds: number;
  readonly hits: number;
  /** No round begins after that; by `performance.now()`. */
  readonly until: number;
  readonly onRound: (done: number) => void;
}

/** Measures all variants in turn, so that the other work of the machine meets all of them. */
export async function measure(world: World, options: Options): Promise<Pick<Samples, 'rounds' | 'hits'>> {
  const canLimit = whyNoCpuLimit() === undefined;
  const rounds: Round[] = [];
  const hits: Hits[] = [];
  // One more, which is thrown away.
  for (let n = 0; n <= options.rounds && (n < 2 || performance.now() < options.until); n += 1) {
    const round = {
      full: await measureRound(world, n, false),
      limited: canLimit ? await measureRound(world, n, true) : undefined,
      initWithoutReadsMs: (await measureInitWithoutReads(world)).initMs,
    };
    if (n > 0) rounds.push(round);
    options.onRound(n);
  }
  for (let n = 0; n < HIT_ROUNDS; n += 1) hits.push(await measureHits(world, options.hits));
  return { rounds, hits };
}

const HIT_ROUNDS = 5;

/** Each round begins with another variant. */
async function measureRound(world: World, n: number, limited: boolean): Promise<ColdStarts> {
  const starts: Partial<Record<keyof ColdStarts, ColdStarts['broker']>> = {};
  for (let k = 0; k < VARIANTS.length; k += 1) {
    const variant = VARIANTS[(n + k) % VARIANTS.length] ?? 'broker';
    starts[variant] = await measureColdStart(world, variant, limited);
  }
  const { broker, empty, sdk, stack } = starts;
  if (!broker || !empty || !sdk || !stack) throw new Error('A round measures every variant.');
  return { broker, empty, sdk, stack };
}

const VARIANTS = ['empty', 'broker', 'sdk', 'stack'] as const;
