import type { Outcome } from './outcome.ts';
import { grouped, WAY_NAMES } from './report.ts';
import { bar, drawing, line, text, ticksUpTo } from './svg.ts';

/** The price of a million tokens for each way, by the parts of the bill. */
export function costChart(outcomes: readonly Outcome[]): string {
  const ticks = ticksUpTo(Math.max(...outcomes.map(({ dollarsPerMillion }) => dollarsPerMillion.all)));
  const highest = ticks.at(-1) ?? 1;
  const widthOf = (dollars: number) => (dollars / highest) * (RIGHT - LEFT);
  const bottom = TOP + outcomes.length * ROW + 4;
  const scale = outcomes[0]?.scale;
  const title = `Dollars for a million tokens, ${grouped(scale?.instances ?? 0)} instances`;
  return drawing({
    width: 720,
    height: bottom + 40,
    title,
    description: outcomes
      .map(({ way, dollarsPerMillion }) => {
        const parts = PARTS.map(([part, name]) => `${name} ${dollarsPerMillion[part].toFixed(2)}`);
        return `${WAY_NAMES[way]}: ${dollarsPerMillion.all.toFixed(2)} (${parts.join(', ')})`;
      })
      .join('; '),
    content: [
      ...PARTS.flatMap(([, name, x], ink) => [bar(x, 54, 12, 12, ink), text(x + 18, 64, name, 'small')]),
      ...ticks.flatMap((tick) => [
        line(LEFT + widthOf(tick), TOP - 6, LEFT + widthOf(tick), bottom),
        text(LEFT + widthOf(tick), bottom + 18, `${tick}`, 'small middle'),
      ]),
      ...outcomes.flatMap((outcome, row) => barsOf(outcome, TOP + row * ROW, widthOf)),
    ],
  });
}

function barsOf(
  { way, dollarsPerMillion }: Outcome,
  y: number,
  widthOf: (dollars: number) => number,
): readonly string[] {
  const starts = PARTS.map((_, n) => PARTS.slice(0, n).reduce((sum, [part]) => sum + dollarsPerMillion[part], 0));
  return [
    text(LEFT - 12, y + 21, WAY_NAMES[way], 'end'),
    ...PARTS.map(([part], ink) =>
      bar(LEFT + widthOf(starts[ink] ?? 0), y, widthOf(dollarsPerMillion[part]), ROW - 16, ink),
    ),
    text(LEFT + widthOf(dollarsPerMillion.all) + 8, y + 21, dollarsPerMillion.all.toFixed(2)),
  ];
}

/** In the order of the bars, with their places in the legend. */
const PARTS = [
  ['lambda', 'Lambda', 120],
  ['dynamodb', 'DynamoDB', 220],
  ['secretsManager', 'Secrets Manager, KMS', 340],
  ['logs', 'logs', 540],
] as const;

const LEFT = 120;
const RIGHT = 640;
const TOP = 96;
const ROW = 48;
