import { expect, it } from 'vitest';
import { type ColdStart, KINDS } from '../../bench/start/cold-start.ts';
import { figuresOf, goalsOf, type Samples } from '../../bench/start/goals.ts';
import { missedOf } from '../../bench/start/report.ts';

it('takes the median of the ratios within the rounds, not the ratio of the medians', () => {
  const rounds = [roundOf({ initMs: 90 }, 100), roundOf({ initMs: 300 }, 400), roundOf({ initMs: 80 }, 100)];
  expect(figureOf('first-token-sdk', { ...SAMPLES, rounds })).toBeCloseTo(0.8);
});

it('judges by processor time when the threads of a start waited long for a processor', () => {
  const start = { initMs: 90, initCpuMs: 40, firstMs: 10, firstCpuMs: 10 };
  const quiet = [roundOf({ ...start, waitedMs: 9 }, 100)];
  const loaded = [roundOf({ ...start, waitedMs: 90 }, 100)];
  expect(figureOf('first-token-sdk', { ...SAMPLES, rounds: quiet })).toBeCloseTo(1);
  expect(figureOf('first-token-sdk', { ...SAMPLES, rounds: loaded })).toBeCloseTo(0.5);
  expect(figureOf('first-token-sdk-waiting', { ...SAMPLES, rounds: loaded })).toBeCloseTo(1);
});

it('counts processor time of a limited invocation as many times as it is slower', () => {
  const rounds = [roundOf({ initCpuMs: 42, firstCpuMs: 29, waitedMs: 90 }, 284)];
  expect(figureOf('first-token-sdk-limited', { ...SAMPLES, rounds })).toBeCloseTo(142 / 284);
});

it('takes the fastest of the starts in a round until an instance is ready', () => {
  const [slow, fast] = [roundOf({ initMs: 300 }, 100), roundOf({ initMs: 180 }, 60)];
  expect(figureOf('init', { ...SAMPLES, rounds: [{ ...slow, lambda: fast.lambda }] })).toBeCloseTo(3);
  expect(figureOf('init', { ...SAMPLES, rounds: [{ ...fast, full: roundOf({ initMs: 120 }, 80).full }] })).toBeCloseTo(
    2,
  );
});

it('leaves out missing measurements, tells which goals are met, and by how much the others are missed', () => {
  const { full } = roundOf({ initMs: 96 }, 100);
  const figures = figuresOf({ ...SAMPLES, bundleBytes: 215_000, rounds: [{ full }] });
  expect(figures.filter(({ series }) => series === 'limited' || series === 'lambda')).toEqual([]);
  const goals = goalsOf(figures);
  expect(goals).toContainEqual({ id: 'bundle-kilobytes', value: 215, goal: 215, met: true });
  expect(goals).toContainEqual({ id: 'first-token-stack', value: 0.96, goal: 0.52, met: false });
  expect(missedOf(figures)).toContainEqual(expect.stringContaining('first token ÷ `stack` by 84.6 %'));
});

const SAMPLES: Samples = {
  node: '24.0.0',
  processors: 2,
  bundleBytes: 0,
  hits: { evicted: [30], warm: [10], lineNanoseconds: [20] },
  rounds: [],
};

/** Every reference takes so long to start and answers at once; all series are equal, and all kinds meet the same machine. */
function roundOf(broker: Partial<ColdStart>, referenceMs: number): Samples['rounds'][number] {
  const { waitedMs = 0 } = broker;
  const reference = { ...START, initMs: referenceMs, initCpuMs: referenceMs, waitedMs };
  const kinds = Object.keys(KINDS).map((kind) => [kind, kind === 'broker' ? { ...START, ...broker } : reference]);
  const starts = Object.fromEntries(kinds);
  return { full: starts, limited: starts, waiting: starts, lambda: starts };
}

const START: ColdStart = {
  initMs: 0,
  firstMs: 0,
  initCpuMs: 0,
  firstCpuMs: 0,
  waitedMs: 0,
  residentBytes: 50_000_000,
};

function figureOf(id: string, samples: Samples): number | undefined {
  return figuresOf(samples).find((figure) => figure.id === id)?.value;
}
