import { expect, it } from 'vitest';
import { FIGURES, reportOf, type Samples } from '../../bench/figures.ts';

it('takes the median of the ratios within the rounds, not the ratio of the medians', () => {
  const rounds = [roundOf(90, 100), roundOf(300, 400), roundOf(80, 100)];
  const figure = FIGURES.find(({ name }) => name.startsWith('first token ÷ `calls`'));
  expect(figure?.of({ ...SAMPLES, rounds })).toBeCloseTo(0.8);
});

it('says which figures are above their limits, and by how much', () => {
  const { report, isAbove } = reportOf({ ...SAMPLES, bundleBytes: 95_700, rounds: [roundOf(10, 100)] });
  expect(report).toContain('| token bundle, in kB | 95.7 | 86 |  |');
  expect(report).toContain('| memory hit ÷ a look into a map | 3.00 |');
  expect(report.match(/^- .*/gm)).toEqual(['- Above its limit by 11.3 %: token bundle, in kB.']);
  expect(isAbove).toBe(true);
  expect(reportOf({ ...SAMPLES, rounds: [roundOf(10, 100)] }).isAbove).toBe(false);
});

const SAMPLES: Samples = { bundleBytes: 0, hits: [3, 2, 10], rounds: [] };

/** Both kinds of the broker take the first time to start, and both references the second. */
function roundOf(brokerMs: number, referenceMs: number): Samples['rounds'][number] {
  const startOf = (ms: number) => ({ init: ms, whole: ms, small: ms, waiting: ms, memory: 1 });
  const [broker, reference] = [startOf(brokerMs), startOf(referenceMs)];
  return { broker, 'table hit': broker, calls: reference, sdk: reference };
}
