/** Chance that is the same in every run. */
export interface Random {
  /** From 0 to below 1. */
  readonly uniform: () => number;
  readonly chance: (probability: number) => boolean;
  /** From 0 to below `count`. */
  readonly index: (count: number) => number;
  readonly exponential: (mean: number) => number;
  /** As latencies are spread: half of them below the median, a few far above. */
  readonly logNormal: (median: number, sigma: number) => number;
}

/** One stream of numbers per seed and purpose, so that one part's draws never change the course of another part. */
export function createRandom(seed: number, purpose: string): Random {
  const uniform = createUniform(seed, purpose);
  return {
    uniform,
    chance: (probability) => uniform() < probability,
    index: (count) => Math.floor(uniform() * count),
    exponential: (mean) => -mean * Math.log(1 - uniform()),
    logNormal: (median, sigma) => median * Math.exp(sigma * normal(uniform)),
  };
}

/** Box and Muller's method. */
function normal(uniform: () => number): number {
  return Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform());
}

/** A counter that is stirred: 32 bits of state, a period of 2³². */
function createUniform(seed: number, purpose: string): () => number {
  let state = [...purpose].reduce((hash, letter) => Math.imul(hash ^ letter.charCodeAt(0), 16_777_619), seed | 0);
  return () => {
    state = (state + 0x9e3779b9) | 0;
    let bits = state;
    bits = Math.imul(bits ^ (bits >>> 16), 0x21f0aaad);
    bits = Math.imul(bits ^ (bits >>> 15), 0x735a2d97);
    return ((bits ^ (bits >>> 15)) >>> 0) / 2 ** 32;
  };
}
