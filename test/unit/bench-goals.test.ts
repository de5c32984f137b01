import { expect, it } from 'vitest';
import { type ColdStart, KINDS } from '../../bench/start/cold-start.ts';
import { figuresOf, goalsOf, type Samples } from '../../bench/start/goals.ts';
import { missedOf } from '../../bench/start/report.ts';

it('takes the median of the ratios within the rounds, not the ratio of the medians', () => {
  const rounds = [roundOf({ initMs: 90 }, 100), roundOf({ initMs: 300 }, 400), roundOf({ initMs: 80 }, 100)];
  const figure = figuresOf({ ...SAMPLES, rounds }).find(({ id }) => id === 'first-token-calls');
  expect(figure?.value).toBeCloseTo(0.8);
});

it('leaves out measurements that the machine does not tell, and says which goals are met and by how much others are missed', () => {
  const untold = { initCpuMs: undefined, firstCpuMs: undefined, waitedMs: undefined, residentBytes: undefined };
  const figures = figuresOf({ ...SAMPLES, bundleBytes: 95_000, rounds: [roundOf({ ...untold, initMs: 121 }, 100)] });
  const ids = figures.map(({ id }) => id);
  expect(ids).toEqual(expect.arrayContaining(['first-token-calls', 'first-token-calls-waiting', 'init']));
  expect(ids).not.toContain('first-token-calls-small');
  expect(ids).not.toContain('resident-memory');
  const goals = goalsOf(figures);
  expect(goals).toContainEqual({ id: 'bundle', value: 95, goal: 95, met: true });
  expect(goals).toContainEqual({ id: 'first-token-calls', value: 1.21, goal: 1.1, met: false });
  expect(missedOf(figures)).toContainEqual(expect.stringContaining('first token ÷ `calls` by 10.0 %'));
});

const SAMPLES: Samples = { node: '24.0.0', processors: 2, bundleBytes: 0, hits: [10], rounds: [] };

/** Every reference takes so long to start and answers at once; both series are equal, and all kinds meet the same machine. */
function roundOf(broker: Partial<ColdStart>, referenceMs: number): Samples['rounds'][number] {
  const { waitedMs = 0 } = broker;
  const reference = { ...START, initMs: referenceMs, initCpuMs: referenceMs, waitedMs };
  const kinds = Object.keys(KINDS).map((kind) => [kind, kind === 'broker' ? { ...START, ...broker } : reference]);
  const starts = Object.fromEntries(kinds);
  return { atOnce: starts, waiting: starts };
}

const START: ColdStart = {
  initMs: 0,
  firstMs: 0,
  initCpuMs: 0,
  firstCpuMs: 0,
  waitedMs: 0,
  residentBytes: 50_000_000,
};
