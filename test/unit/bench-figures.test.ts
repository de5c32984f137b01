import { expect, it } from 'vitest';
import { type ColdStart, KINDS } from '../../bench/start/cold-start.ts';
import type { Samples } from '../../bench/start/measure.ts';
import { reportOf, resultsOf } from '../../bench/start/report.ts';

it('takes the median of the ratios within the rounds, not the ratio of the medians', () => {
  const rounds = [roundOf(90, 100), roundOf(300, 400), roundOf(80, 100)];
  const results = resultsOf({ ...SAMPLES, rounds });
  expect(results.find(({ name }) => name.startsWith('first token ÷ `calls`'))?.value).toBeCloseTo(0.8);
});

it('says which figures are above their limits, and by how much', () => {
  const report = reportOf({ ...SAMPLES, bundleBytes: 110_000, rounds: [roundOf(10, 100)] });
  expect(report).toContain('| token bundle, in kB | 110 | 100 |  |');
  // Of the fastest process.
  expect(report).toContain('| memory hit in process, in µs | 11.0 | 13.2 |  |');
  expect(report.match(/^- .*/gm)).toEqual(['- Above its limit by 10.0 %: token bundle, in kB.']);
});

const SAMPLES: Samples = {
  node: '24.0.0',
  processors: 2,
  bundleBytes: 0,
  hits: [[11, 10, 12], [25]],
  rounds: [],
  servedInSecond: 1,
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
