import { expect, it } from 'vitest';
import { Sampler } from '../../../functions/broker/health/failure-sampler.ts';

it('lets everything through until ten fail in a row', () => {
  const sampler = new Sampler<number>();
  fail(sampler, 9);
  sampler.note(false);
  fail(sampler, 9);
  expect(passing(sampler, 20)).toHaveLength(20);
  fail(sampler, 1);
  expect(passing(sampler, 9)).toEqual([]);
});

it('then lets every tenth through, until one succeeds', () => {
  const sampler = new Sampler<number>();
  fail(sampler, 10);
  expect(passing(sampler, 35)).toEqual([10, 20, 30]);
  sampler.note(false);
  expect(passing(sampler, 3)).toEqual([1, 2, 3]);
});

it('gives what it left out back when one has succeeded, once', () => {
  const sampler = new Sampler<number>();
  fail(sampler, 10);
  passing(sampler, 11);
  expect(sampler.takeBack()).toEqual([]);
  expect(sampler.leftOut).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 11]);
  sampler.note(false);
  expect(sampler.takeBack()).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 11]);
  expect(sampler.takeBack()).toEqual([]);
  expect(sampler.leftOut).toEqual([]);
});

function fail(sampler: Sampler<number>, times: number): void {
  for (let time = 0; time < times; time += 1) sampler.note(true);
}

/** Which of so many are let through, counted from one. */
function passing(sampler: Sampler<number>, count: number): readonly number[] {
  return Array.from({ length: count }, (_, index) => index + 1).filter((item) => !sampler.leavesOut(item));
}
