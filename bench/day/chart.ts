import { curve, drawing, line, text, ticksUpTo } from '../svg.ts';
import { type Outcome, shown } from './outcome.ts';
import { WAYS } from './world.ts';

/** How many token requests each way makes as the fleet grows; each size of a fleet needs an outcome for each way. */
export function tokenRequestChart(outcomes: readonly Outcome[]): string {
  const sorted = outcomes.toSorted((one, other) => one.scale.instances - other.scale.instances);
  const fleets = [...new Set(sorted.map(({ scale }) => scale.instances))];
  const series = WAYS.map((way) => {
    const counts = sorted.flatMap((each) => (each.way === way ? each.tokenRequests.all : []));
    return { name: way.replace('-', ' '), counts };
  });
  const ticks = ticksUpTo(Math.max(...series.flatMap(({ counts }) => counts)));
  const xOf = (fleet: number) => LEFT + (fleet * (RIGHT - LEFT)) / Math.max(1, fleets.length - 1);
  const yOf = (requests: number) => BOTTOM - (requests / (ticks.at(-1) ?? 1)) * (BOTTOM - TOP);
  const pointsOf = (counts: readonly number[]) => counts.map((count, n) => [xOf(n), yOf(count)] as const);
  const { hours = 0, pairs = 0 } = sorted[0]?.scale ?? {};
  return drawing({
    width: 720,
    height: 400,
    title: `Token requests in ${hours} h for ${shown(pairs)} pairs`,
    description: series.map(({ name, counts }) => `${name}: ${counts.map(shown).join(', ')}`).join('; '),
    content: [
      ...ticks.flatMap((tick) => [
        line(LEFT, yOf(tick), RIGHT, yOf(tick)),
        text(LEFT - 12, yOf(tick) + 4, shown(tick), 'small end'),
      ]),
      ...fleets.map((instances, n) => text(xOf(n), BOTTOM + 22, shown(instances), 'small middle')),
      text((LEFT + RIGHT) / 2, BOTTOM + 44, 'instances of the function', 'small middle'),
      ...series.flatMap(({ name, counts }, ink) => [
        curve(pointsOf(counts), ink),
        text(RIGHT + 14, yOf(counts.at(-1) ?? 0) + 5, name, `ink-${ink}`),
      ]),
    ],
  });
}

const [LEFT, RIGHT, TOP, BOTTOM] = [90, 590, 60, 340];
