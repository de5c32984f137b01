import { bar, drawing, line, text, ticksUpTo } from '../svg.ts';
import { KINDS, type KindName } from './cold-start.ts';
import { CONDITIONS, type Condition, isLoaded, median, type Samples, timesOf } from './goals.ts';

/** Draws the time from the start of an instance to its first token, next to the references. */
export function speedChart({ rounds, node }: Samples): string {
  const loaded = isLoaded({ rounds });
  const groups = (Object.keys(CONDITIONS) as Condition[]).map((condition) => ({
    title: CONDITIONS[condition],
    rows: (Object.keys(KINDS) as KindName[]).map((kind) => {
      const times = rounds.map((round) => timesOf(round, kind, condition, loaded));
      const initMs = median(times.map((each) => each.initMs));
      return { kind, initMs, totalMs: initMs + median(times.map((each) => each.firstMs)) };
    }),
  }));
  const known = groups.filter(({ rows }) => rows.every(({ totalMs }) => !Number.isNaN(totalMs)));
  const ticks = ticksUpTo(Math.max(...known.flatMap(({ rows }) => rows.map(({ totalMs }) => totalMs))));
  const xOf = (milliseconds: number) => LEFT + (milliseconds / (ticks.at(-1) ?? 1)) * (RIGHT - LEFT);
  const topOf = (group: number) => TOP + group * (Object.keys(KINDS).length * ROW + GAP);
  const bottom = topOf(known.length) - GAP + 8;
  const unit = `milliseconds, medians of ${rounds.length} rounds, Node ${node}`;

  return drawing({
    width: 720,
    height: bottom + 48,
    title: 'From the start of an instance to its first token',
    description: known
      .flatMap(({ title, rows }) => rows.map(({ kind, totalMs }) => `${kind}, ${title}: ${totalMs.toFixed(0)} ms`))
      .join('; '),
    content: [
      ...LEGEND.flatMap(([name, x], ink) => [bar(x, 54, 12, 12, ink), text(x + 18, 64, name, 'small')]),
      ...ticks.flatMap((tick) => [
        line(xOf(tick), TOP - 30, xOf(tick), bottom),
        text(xOf(tick), bottom + 18, `${tick}`, 'small middle'),
      ]),
      text((LEFT + RIGHT) / 2, bottom + 38, unit, 'small middle'),
      ...known.flatMap(({ title, rows }, group) => [
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

const LEGEND = [
  ['start', 160],
  ['first invocation', 240],
] as const;

const LEFT = 160;
const RIGHT = 660;
const TOP = 112;
const ROW = 30;
const GAP = 36;
