import { tableText } from '../../client/commands/output.ts';
import { type ColdStart, KINDS, type KindName } from './cold-start.ts';
import { basisOf, type Figure, figuresOf, median, type Samples, waitedShare } from './goals.ts';
import { SERIES, type SeriesName } from './measure.ts';

/** A run as text: the kinds of start side by side in each series, then every figure. */
export function reportOf(samples: Samples): string {
  const figures = figuresOf(samples);
  return [
    circumstances(samples),
    ...seriesOf(samples).map(
      (series) => `${SERIES[series].title}: medians in ms\n${tableText(HEADER, medianRows(samples, series))}`,
    ),
    tableText(
      ['ratio or figure', 'series', 'at most', 'by the clock', 'by processor time', ''],
      figures.map(figureRow),
    ),
    ...missedOf(figures),
  ].join('\n');
}

/** The same for docs/performance.md. */
export function markdownOf(samples: Samples): string {
  const figures = figuresOf(samples);
  const ratios = Map.groupBy(
    figures.filter(({ series }) => series !== undefined),
    ({ name }) => name,
  );
  const series = seriesOf(samples);
  return [
    circumstances(samples),
    '',
    ...markdownTable(
      ['from the start of a process to its', ...series.map((each) => SERIES[each].title)],
      [...ratios].map(([name, row]) => [
        name,
        ...series.map((each) => row.flatMap((figure) => (figure.series === each ? cellOf(figure) : [])).join('')),
      ]),
    ),
    '',
    ...markdownTable(
      ['what', 'at most', 'is'],
      figures.flatMap(({ name, series: of, goal = '', value }) => (of ? [] : [[name, `${goal}`, short(value)]])),
    ),
    '',
    ...missedOf(figures).map((line) => `- ${line}`),
  ].join('\n');
}

/** Which goals are missed, and by how much: a line for those that have the same reason. */
export function missedOf(figures: readonly Figure[]): readonly string[] {
  const missed = figures.flatMap(({ name, series, goal, value, why }) => {
    if (goal === undefined || value <= goal) return [];
    const where = series === undefined || series === 'full' ? name : `${name} (${SERIES[series].title})`;
    return { why, miss: `${where} by ${(100 * (value / goal - 1)).toFixed(1)} %` };
  });
  return [...Map.groupBy(missed, ({ why }) => why)].map(
    ([why, misses]) => `Missed: ${misses.map(({ miss }) => miss).join('; ')}: ${why}.`,
  );
}

function circumstances(samples: Samples): string {
  const { rounds, node, processors } = samples;
  const waited = waitedShare(samples);
  const basis = {
    clock: 'by the clock, those with a limit and answers at once by processor time',
    processor: 'by processor time, those with answers that take time by the clock',
  };
  return `${rounds.length} ${rounds.length === 1 ? 'round' : 'rounds'} with Node ${node} on ${processors} processors; threads waited for them ${(100 * waited).toFixed(0)} % of a start. Ratios are ${basis[basisOf(samples)]}.`;
}

function seriesOf({ rounds: [round = {}] }: Samples): readonly SeriesName[] {
  return (Object.keys(SERIES) as SeriesName[]).filter((name) => round[name] !== undefined);
}

const HEADER = ['', 'start', 'first token', 'both', 'processor, start', 'first token', 'both', 'MB'];

function medianRows({ rounds }: Samples, series: SeriesName): readonly (readonly string[])[] {
  return (Object.keys(KINDS) as KindName[]).map((kind) => {
    const starts = rounds.flatMap(({ [series]: round }) => round?.[kind] ?? []);
    const of = (value: (start: ColdStart) => number | undefined) =>
      short(median(starts.map((start) => value(start) ?? Number.NaN)));
    return [
      kind,
      of(({ initMs }) => initMs),
      of(({ firstMs }) => firstMs),
      of(({ initMs, firstMs }) => initMs + firstMs),
      of(({ initCpuMs }) => initCpuMs),
      of(({ firstCpuMs }) => firstCpuMs),
      of(({ initCpuMs = Number.NaN, firstCpuMs = Number.NaN }) => initCpuMs + firstCpuMs),
      of(({ residentBytes = Number.NaN }) => residentBytes / 1e6),
    ];
  });
}

function figureRow({ name, series, goal, value, byClock, byProcessorTime }: Figure): readonly string[] {
  const met = goal === undefined ? '' : value <= goal ? 'met' : 'MISSED';
  return [name, series ?? '', `${goal ?? ''}`, short(byClock), short(byProcessorTime), met];
}

function cellOf({ goal, value }: Figure): string {
  return goal === undefined ? short(value) : `${short(value)} (at most ${goal})`;
}

function markdownTable(header: readonly string[], rows: readonly (readonly string[])[]): readonly string[] {
  return [header, header.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`);
}

function short(value: number | undefined): string {
  if (value === undefined || Number.isNaN(value)) return '-';
  return value.toFixed(value < 10 ? 2 : value < 100 ? 1 : 0);
}
