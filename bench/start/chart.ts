import { bar, drawing, line, text, ticksUpTo } from '../fleet/svg.ts';
import type { ColdStart } from './cold-start.ts';
import { VARIANTS } from './report.ts';
import type { Samples } from './samples.ts';
import { median } from './statistics.ts';

/** How long it takes from the start of an environment to its first token, beside the references. */
export function speedChart({ rounds, node }: Samples): string {
  const groups = [
    ['a whole processor', (variant: Name) => rounds.map(({ full }) => full[variant])],
    ['0.29 of one for the invocation', (variant: Name) => rounds.flatMap(({ limited }) => limited?.[variant] ?? [])],
  ] as const;
  const rows = groups.flatMap(([group, startsOf]) =>
    VARIANTS.flatMap((variant) => {
      const starts = startsOf(variant);
      return starts.length === 0 ? [] : { group, variant, ...mediansOf(starts) };
    }),
  );
  const ticks = ticksUpTo(Math.max(...rows.map(({ initMs, firstMs }) => initMs + firstMs)));
  const highest = ticks.at(-1) ?? 1;
  const widthOf = (milliseconds: number) => (milliseconds / highest) * (RIGHT - LEFT);
  const yOf = (row: number) => TOP + row * ROW + Math.floor(row / VARIANTS.length) * GAP;
  const bottom = yOf(rows.length) + 4;

  return drawing({
    width: 720,
    height: bottom + 48,
    title: 'From the start of an environment to its first token',
    description: rows
      .map(({ group, variant, initMs, firstMs }) => `${variant}, ${group}: ${(initMs + firstMs).toFixed(0)} ms`)
      .join('; '),
    content: [
      ...LEGEND.flatMap(([name, x], ink) => [bar(x, 54, 12, 12, ink), text(x + 18, 64, name, 'small')]),
      ...ticks.flatMap((tick) => [
        line(LEFT + widthOf(tick), TOP - 30, LEFT + widthOf(tick), bottom),
        text(LEFT + widthOf(tick), bottom + 18, `${tick}`, 'small middle'),
      ]),
      text(
        (LEFT + RIGHT) / 2,
        bottom + 38,
        `milliseconds, medians of ${rounds.length} rounds, Node ${node}`,
        'small middle',
      ),
      ...groups.map(([group], n) => text(LEFT + 6, yOf(n * VARIANTS.length) - 10, group, 'small')),
      ...rows.flatMap(({ variant, initMs, firstMs }, row) => [
        text(LEFT - 12, yOf(row) + 16, variant, 'end'),
        bar(LEFT, yOf(row), widthOf(initMs), ROW - 10, 0),
        bar(LEFT + widthOf(initMs), yOf(row), widthOf(firstMs), ROW - 10, 1),
        text(LEFT + widthOf(initMs + firstMs) + 8, yOf(row) + 16, (initMs + firstMs).toFixed(0)),
      ]),
    ],
  });
}

type Name = (typeof VARIANTS)[number];

function mediansOf(starts: readonly ColdStart[]): Pick<ColdStart, 'initMs' | 'firstMs'> {
  return { initMs: median(starts.map(({ initMs }) => initMs)), firstMs: median(starts.map(({ firstMs }) => firstMs)) };
}

const LEGEND = [
  ['start', 100],
  ['first invocation, a miss', 180],
] as const;

const LEFT = 100;
const RIGHT = 650;
const TOP = 112;
const ROW = 32;
const GAP = 34;
