/** One line of a function's log as a person reads it: outcome, pair, caller, where the token came from, how long it took. */
export function requestLine(line: string): string {
  const { outcome, service, pair, caller, cache, warnings = [], Duration: milliseconds } = JSON.parse(line);
  const origin = cache === 'none' ? 'token request' : cache && `from ${cache}`;
  const duration = milliseconds === undefined ? undefined : `${Math.round(milliseconds)} ms`;
  const words = [outcome, pair ?? service, caller && `for ${caller}`, origin, ...warnings, duration];
  return `${words.filter(Boolean).join('  ')}\n`;
}
