import { curve, drawing, line, text, ticksUpTo } from '../../svg.ts';
import { type Outcome, shown } from './outcome.ts';
import { WAYS } from './world.ts';

/** How many token requests each way makes as the fleet grows; without a broker there is no fleet to grow. */
export function tokenRequestChart(outcomes: readonly Outcome[]): string {
  const fleets = [...new Set(outcomes.map(({ scale }) => scale.instances))].sort((one, other) => one - other);
  const ticks = ticksUpTo(Math.max(...outcomes.map(({ tokenRequests }) => tokenRequests.all)));
  const highest = ticks.at(-1) ?? 1;
  const xOf = (fleet: number) => LEFT + (fleet * (RIGHT - LEFT)) / Math.max(1, fleets.length - 1);
  const yOf = (requests: number) => BOTTOM - (requests / highest) * (BOTTOM - TOP);

  const series = WAYS.map((way) => {
    const own = outcomes.filter((outcome) => outcome.way === way);
    const at = (instances: number) => own.find(({ scale }) => scale.instances === instances) ?? own[0];
    return { name: way.replace('-', ' '), requests: fleets.map((instances) => at(instances)?.tokenRequests.all ?? 0) };
  });
  const first = outcomes[0];
  return drawing({
    width: 720,
    height: 400,
    title: `Token requests in ${first?.simulatedHours} h for ${shown(first?.scale.pairs ?? 0)} pairs`,
    description: series.map(({ name, requests }) => `${name}: ${requests.map(shown).join(', ')}`).join('; '),
    content: [
      ...ticks.flatMap((tick) => [
        line(LEFT, yOf(tick), RIGHT, yOf(tick)),
        text(LEFT - 12, yOf(tick) + 4, shown(tick), 'small end'),
      ]),
      ...fleets.map((instances, n) => text(xOf(n), BOTTOM + 22, shown(instances), 'small middle')),
      text((LEFT + RIGHT) / 2, BOTTOM + 44, 'instances of the function', 'small middle'),
      ...series.map(({ requests }, ink) =>
        curve(
          requests.map((count, n) => [xOf(n), yOf(count)]),
          ink,
        ),
      ),
      ...series.map(({ name, requests }, ink) => text(RIGHT + 14, yOf(requests.at(-1) ?? 0) + 5, name, `ink-${ink}`)),
    ],
  });
}

const LEFT = 90;
const RIGHT = 590;
const TOP = 60;
const BOTTOM = 340;
