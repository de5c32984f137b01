/** One audit line of the broker as a person reads it: outcome, pair, caller, where the token came from, how long it took. */
export function requestLine(line: string): string {
  const { outcome, pair, caller, cache, remarks = [], Duration: milliseconds } = JSON.parse(line);
  const origin = cache === 'none' ? 'token request' : cache && `from ${cache}`;
  const words = [outcome, pair, caller && `for ${caller}`, origin, ...remarks, `${Math.round(milliseconds)} ms`];
  return `${words.filter(Boolean).join('  ')}\n`;
}
