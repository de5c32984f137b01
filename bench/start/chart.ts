import { bar, drawing, line, text, ticksUpTo } from '../svg.ts';
import { KINDS, type KindName } from './cold-start.ts';
import { CONDITIONS, type Condition, median, timesOf } from './figures.ts';
import type { Samples } from './measure.ts';

/** Draws the time from the start of an instance to its first token, next to the references. */
export function speedChart({ rounds, node }: Samples): string {
  const bars = (Object.keys(CONDITIONS) as Condition[]).flatMap((condition, group) =>
    (Object.keys(KINDS) as KindName[]).map((kind, n) => {
      const times = rounds.map((round) => timesOf(round, kind, condition));
      const initMs = median(times.map(([ms]) => ms));
      const totalMs = initMs + median(times.map(([, ms]) => ms));
      return { n, kind, title: CONDITIONS[condition], initMs, totalMs, y: TOP + group * GROUP + n * ROW };
    }),
  );
  const ticks = ticksUpTo(Math.max(...bars.map(({ totalMs }) => totalMs)));
  const xOf = (milliseconds: number) => LEFT + (milliseconds / (ticks.at(-1) ?? 1)) * (RIGHT - LEFT);
  const bottom = TOP + Object.keys(CONDITIONS).length * GROUP - 28;
  const unit = `milliseconds, medians of ${rounds.length} rounds, Node ${node}`;
  return drawing({
    width: 720,
    height: bottom + 48,
    title: 'From the start of an instance to its first token',
    description: bars.map(({ kind, title, totalMs }) => `${kind}, ${title}: ${totalMs.toFixed(0)} ms`).join('; '),
    content: [
      ...[bar(160, 54, 12, 12, 0), text(178, 64, 'start', 'small')],
      ...[bar(240, 54, 12, 12, 1), text(258, 64, 'first invocation', 'small')],
      ...ticks.map((tick) => line(xOf(tick), TOP - 30, xOf(tick), bottom)),
      ...ticks.map((tick) => text(xOf(tick), bottom + 18, `${tick}`, 'small middle')),
      text((LEFT + RIGHT) / 2, bottom + 38, unit, 'small middle'),
      ...bars.flatMap(({ n, kind, title, initMs, totalMs, y }) => [
        ...(n === 0 ? [text(LEFT + 6, y - 10, title, 'small')] : []),
        text(LEFT - 12, y + 16, kind, 'end'),
        bar(LEFT, y, xOf(initMs) - LEFT, ROW - 8, 0),
        bar(xOf(initMs), y, xOf(totalMs) - xOf(initMs), ROW - 8, 1),
        text(xOf(totalMs) + 8, y + 16, totalMs.toFixed(0)),
      ]),
    ],
  });
}

const [LEFT, RIGHT, TOP, ROW] = [160, 660, 112, 30];
const GROUP = Object.keys(KINDS).length * ROW + 36;
