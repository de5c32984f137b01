/** The name that was probably meant by one that there is not: two slips of the keyboard away at most. */
export function nearestName(written: string, names: readonly string[]): string | undefined {
  const [nearest] = names
    .map((name) => ({ name, slips: slipsBetween(written.toLowerCase(), name.toLowerCase()) }))
    .filter(({ name, slips }) => slips <= Math.min(2, name.length / 3))
    .toSorted((one, other) => one.slips - other.slips);
  return nearest?.name;
}

/** How many letters must be put in, taken out or changed to make one word of another (Levenshtein's distance). */
function slipsBetween(from: string, to: string): number {
  let costs = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (const [row, letter] of [...from].entries()) {
    const next = [row + 1];
    for (const [column, other] of [...to].entries()) {
      const [left = 0, above = 0, before = 0] = [next[column], costs[column + 1], costs[column]];
      next.push(Math.min(left + 1, above + 1, before + (letter === other ? 0 : 1)));
    }
    costs = next;
  }
  return costs.at(-1) ?? from.length;
}
