import { expect, it } from 'vitest';
import { type ColdStart, KINDS } from '../../bench/cold-start.ts';
import { reportOf, resultsOf, type Samples } from '../../bench/figures.ts';

it('takes the median of the ratios within the rounds, not the ratio of the medians', () => {
  const rounds = [roundOf(90, 100), roundOf(300, 400), roundOf(80, 100)];
  const results = resultsOf({ ...SAMPLES, rounds });
  expect(results.find(({ name }) => name.startsWith('first token ÷ `calls`'))?.value).toBeCloseTo(0.8);
});

it('says which figures are above their limits, and by how much', () => {
  const report = reportOf({ ...SAMPLES, bundleBytes: 96_250, rounds: [roundOf(10, 100)] });
  expect(report).toContain('| token bundle, in kB | 96.3 | 87.5 |  |');
  // The median of the ratios within the processes.
  expect(report).toMatch(/\| memory hit ÷ a look into a map \| 4\.00 \|/);
  expect(report.match(/^- .*/gm)).toEqual(['- Above its limit by 10.0 %: token bundle, in kB.']);
});

const SAMPLES: Samples = {
  node: '24.0.0',
  processors: 2,
  bundleBytes: 0,
  hits: [
    { broker: [11, 12, 14], reference: [3, 2, 4] },
    { broker: [30], reference: [10] },
    { broker: [100], reference: [10] },
  ],
  rounds: [],
};

/** Both kinds of the broker take the first time to start, and all references the second. All answer at once. */
function roundOf(brokerMs: number, referenceMs: number): Samples['rounds'][number] {
  const startOf = (ms: number): ColdStart => ({
    initMs: ms,
    initCpuMs: ms,
    firstMs: 0,
    firstCpuMs: 0,
    residentBytes: 1,
  });
  const kinds = Object.entries(KINDS).map(([name, { variant }]) => [
    name,
    startOf(variant === 'broker' ? brokerMs : referenceMs),
  ]);
  const starts = Object.fromEntries(kinds);
  return { atOnce: starts, waiting: starts };
}
