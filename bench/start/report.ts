import { CONDITIONS, type Condition, type Figure, figuresOf, isLoaded, type Samples, waitedShare } from './goals.ts';

/** Returns a run as Markdown, for people and for docs/performance.md. */
export function reportOf(samples: Samples): string {
  const figures = figuresOf(samples);
  const ratios = Map.groupBy(
    figures.filter(({ condition }) => condition !== undefined),
    ({ name }) => name,
  );
  const conditions = Object.keys(CONDITIONS) as Condition[];
  return [
    circumstances(samples),
    '',
    ...tableOf(
      ['from the start of a process to its', ...Object.values(CONDITIONS)],
      [...ratios].map(([name, row]) => [
        name,
        ...conditions.map((each) =>
          row
            .filter(({ condition }) => condition === each)
            .map(cellOf)
            .join(''),
        ),
      ]),
    ),
    '',
    ...tableOf(
      ['what', 'at most', 'is'],
      figures.flatMap(({ name, condition, goal = '', value }) => (condition ? [] : [[name, `${goal}`, short(value)]])),
    ),
    '',
    ...missedOf(figures).map((line) => `- ${line}`),
  ].join('\n');
}

/** Lists the missed goals and by how much, on a line for each reason. */
export function missedOf(figures: readonly Figure[]): readonly string[] {
  const missed = figures.flatMap(({ name, condition = 'full', goal, value, why }) => {
    if (goal === undefined || value <= goal) return [];
    const where = condition === 'full' ? name : `${name} (${CONDITIONS[condition]})`;
    return { why, miss: `${where} by ${(100 * (value / goal - 1)).toFixed(1)} %` };
  });
  return [...Map.groupBy(missed, ({ why }) => why)].map(
    ([why, misses]) => `Missed: ${misses.map(({ miss }) => miss).join('; ')}: ${why}.`,
  );
}

function circumstances(samples: Samples): string {
  const { rounds, node, processors } = samples;
  const count = `${rounds.length} ${rounds.length === 1 ? 'round' : 'rounds'}`;
  const waited = `threads waited for them ${(100 * waitedShare(samples)).toFixed(0)} % of a start`;
  const basis = isLoaded(samples) ? 'processor time, as the machine had other work' : 'the clock';
  return `${count} with Node ${node} on ${processors} processors; ${waited}. With a whole processor and answers at once by ${basis}.`;
}

function cellOf({ goal, value }: Figure): string {
  return goal === undefined ? short(value) : `${short(value)} (at most ${goal})`;
}

function tableOf(header: readonly string[], rows: readonly (readonly string[])[]): readonly string[] {
  return [header, header.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`);
}

function short(value: number): string {
  return value.toFixed(value < 10 ? 2 : value < 100 ? 1 : 0);
}
