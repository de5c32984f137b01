import { expect, it } from 'vitest';
import { Sampler } from '../../../functions/broker/health-sampler.ts';

it('lets everything through until ten fail in a row', () => {
  const sampler = new Sampler();
  fail(sampler, 9);
  expect(sampler.isSampling()).toBe(false);
  sampler.note(false);
  fail(sampler, 9);
  expect(passes(sampler, 20)).toHaveLength(20);
  fail(sampler, 1);
  expect(sampler.isSampling()).toBe(true);
});

it('then lets every tenth through, until one succeeds', () => {
  const sampler = new Sampler();
  fail(sampler, 10);
  expect(passes(sampler, 35)).toEqual([10, 20, 30]);
  sampler.note(false);
  expect(passes(sampler, 3)).toEqual([1, 2, 3]);
});

function fail(sampler: Sampler, times: number): void {
  for (let time = 0; time < times; time += 1) sampler.note(true);
}

/** Which of so many are let through, counted from one. */
function passes(sampler: Sampler, count: number): readonly number[] {
  return Array.from({ length: count }, (_, index) => index + 1).filter(() => !sampler.passesOver());
}
