import { bar, drawing, line, text, ticksUpTo } from '../../test/support/svg.ts';
import { KINDS, type KindName } from './cold-start.ts';
import { basisOf, first, init, median, type Samples } from './goals.ts';
import { SERIES, type SeriesName } from './measure.ts';

/** How long it takes from the start of an instance to its first token, beside the references. */
export function speedChart({ rounds, node }: Samples): string {
  const basis = basisOf({ rounds });
  const groups = SHOWN[basis]
    .map((series) => ({
      title: SERIES[series].title,
      rows: (Object.keys(KINDS) as KindName[]).flatMap((kind) => {
        const starts = rounds.flatMap(({ [series]: round }) => round?.[kind] ?? []);
        const initMs = median(starts.map((start) => init(start, basis)));
        const firstMs = median(starts.map((start) => first(start, basis, SERIES[series].limited)));
        return starts.length === 0 ? [] : { kind, initMs, totalMs: initMs + firstMs };
      }),
    }))
    .filter(({ rows }) => rows.length > 0);
  const ticks = ticksUpTo(Math.max(...groups.flatMap(({ rows }) => rows.map(({ totalMs }) => totalMs))));
  const highest = ticks.at(-1) ?? 1;
  const xOf = (milliseconds: number) => LEFT + (milliseconds / highest) * (RIGHT - LEFT);
  const heightOf = (rows: number) => rows * ROW + GAP;
  const topOf = (group: number) =>
    TOP + groups.slice(0, group).reduce((sum, { rows }) => sum + heightOf(rows.length), 0);
  const bottom = topOf(groups.length) - GAP + 8;

  return drawing({
    width: 720,
    height: bottom + 48,
    title: 'From the start of an instance to its first token',
    description: groups
      .flatMap(({ title, rows }) => rows.map(({ kind, totalMs }) => `${kind}, ${title}: ${totalMs.toFixed(0)} ms`))
      .join('; '),
    content: [
      ...LEGEND.flatMap(([name, x], ink) => [bar(x, 54, 12, 12, ink), text(x + 18, 64, name, 'small')]),
      ...ticks.flatMap((tick) => [
        line(xOf(tick), TOP - 30, xOf(tick), bottom),
        text(xOf(tick), bottom + 18, `${tick}`, 'small middle'),
      ]),
      text(
        (LEFT + RIGHT) / 2,
        bottom + 38,
        `milliseconds ${UNITS[basis]}, medians of ${rounds.length} rounds, Node ${node}`,
        'small middle',
      ),
      ...groups.flatMap(({ title, rows }, group) => [
        text(LEFT + 6, topOf(group) - 10, title, 'small'),
        ...rows.flatMap(({ kind, initMs, totalMs }, n) => {
          const y = topOf(group) + n * ROW;
          return [
            text(LEFT - 12, y + 16, kind, 'end'),
            bar(LEFT, y, xOf(initMs) - LEFT, ROW - 8, 0),
            bar(xOf(initMs), y, xOf(totalMs) - xOf(initMs), ROW - 8, 1),
            text(xOf(totalMs) + 8, y + 16, totalMs.toFixed(0)),
          ];
        }),
      ]),
    ],
  });
}

/** The nearest to Lambda that the basis tells, beside the simplest. */
const SHOWN = { clock: ['full', 'lambda'], processor: ['full', 'limited'] } as const satisfies Record<
  string,
  SeriesName[]
>;
const UNITS = { clock: 'by the clock', processor: 'of processor time' };

const LEGEND = [
  ['start', 160],
  ['first invocation', 240],
] as const;

const LEFT = 160;
const RIGHT = 660;
const TOP = 112;
const ROW = 30;
const GAP = 36;
