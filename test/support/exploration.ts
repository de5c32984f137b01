/** One run of an exploration: every choice that the world leaves open is made here, so that all of them get made. */
export interface Choices {
  /** One of the options; with a single one there is nothing to choose. */
  pick<Option>(options: readonly [Option, ...Option[]]): Option;
}

/**
 * Runs a world once for every combination of its choices: depth first, each run from the start, the last choice that
 * has an option left is changed next. Throws the failure of a run with the choices that led to it.
 */
export async function exploreAll(run: (choices: Choices) => Promise<void>, maxRuns: number): Promise<number> {
  let path: number[] = [];
  for (let runs = 1; runs <= maxRuns; runs += 1) {
    const { taken, widths } = await runOnce(run, path);
    const last = widths.findLastIndex((width, index) => (taken[index] ?? 0) + 1 < width);
    if (last === -1) return runs;
    path = [...taken.slice(0, last), (taken[last] ?? 0) + 1];
  }
  throw new Error(`not everything was explored in ${maxRuns} runs`);
}

async function runOnce(run: (choices: Choices) => Promise<void>, path: readonly number[]) {
  const taken: number[] = [];
  const widths: number[] = [];
  const story: string[] = [];
  const pick = <Option>(options: readonly [Option, ...Option[]]): Option => {
    const index = options.length === 1 ? 0 : (path[taken.length] ?? 0);
    if (options.length > 1) {
      taken.push(index);
      widths.push(options.length);
    }
    const option = options[index] ?? options[0];
    story.push(String(option));
    return option;
  };
  try {
    await run({ pick });
  } catch (error) {
    throw new Error(`${error instanceof Error ? error.message : error}\nafter:\n  ${story.join('\n  ')}`, {
      cause: error,
    });
  }
  return { taken, widths };
}
