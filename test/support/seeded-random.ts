/** Numbers from 0 to below 1, the same in every run; for each purpose others, so that none changes the course of another. */
export function seededRandom(seed: number, purpose = ''): () => number {
  // A counter that is stirred: 32 bits of state, a period of 2³².
  let state = [...purpose].reduce((hash, letter) => Math.imul(hash ^ letter.charCodeAt(0), 16_777_619), seed | 0);
  return () => {
    state = (state + 0x9e3779b9) | 0;
    let bits = state;
    bits = Math.imul(bits ^ (bits >>> 16), 0x21f0aaad);
    bits = Math.imul(bits ^ (bits >>> 15), 0x735a2d97);
    return ((bits ^ (bits >>> 15)) >>> 0) / 2 ** 32;
  };
}
