export type Random = ReturnType<typeof createRandom>;

/** Chance that is the same in every run: a stream for each seed and purpose, so no part's draws change the course of another. */
export function createRandom(seed: number, purpose: string) {
  // A counter that is stirred: 32 bits of state, a period of 2³².
  let state = [...purpose].reduce((hash, letter) => Math.imul(hash ^ letter.charCodeAt(0), 16_777_619), seed | 0);
  const uniform = () => {
    state = (state + 0x9e3779b9) | 0;
    let bits = state;
    bits = Math.imul(bits ^ (bits >>> 16), 0x21f0aaad);
    bits = Math.imul(bits ^ (bits >>> 15), 0x735a2d97);
    return ((bits ^ (bits >>> 15)) >>> 0) / 2 ** 32;
  };
  // Box and Muller's method.
  const normal = () => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform());
  return {
    /** From 0 to below 1. */
    uniform,
    chance: (probability: number) => uniform() < probability,
    /** From 0 to below `count`. */
    index: (count: number) => Math.floor(uniform() * count),
    exponential: (mean: number) => -mean * Math.log(1 - uniform()),
    /** As latencies are spread: half of them below the median, a few far above. */
    logNormal: (median: number, sigma: number) => median * Math.exp(sigma * normal()),
  };
}
